"""Mechanisms side by side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.mechanisms.product import product_mechanism
from sfumato.mechanisms.tight import tight_constraints as table


def test_products() -> None:
    alpha = "1/3"
    mechanism = product_mechanism(*(table(sf.PrivacyType(sf.line(n), alpha=alpha)) for n in (3, 2, 2)))
    privacy = sf.PrivacyType(sf.grid(3, 2, 2, metric="manhattan"), alpha=alpha)
    rows = np.stack([mechanism.row_weights(label).ravel() for label in privacy.secrets])
    assert (rows.sum(axis=1) == mechanism.total).all() and len(mechanism) == 12
    assert (sf.prove(rows, privacy).channel.matrix == table(privacy).channel.matrix).all()
    assert mechanism.row((0, 1, 1)).sum() == pytest.approx(1)
    assert mechanism.utility == Fraction(int(np.trace(rows)), 12 * mechanism.total)
    assert repr(mechanism) == "ProductMechanism(3 × 2 × 2 secrets, proved)"


def test_wrong_factors_and_secrets() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        product_mechanism()
    with pytest.raises(InvalidInput, match="tuple of 1 labels"):
        product_mechanism(table(sf.PrivacyType(sf.line(2), alpha="1/2"))).row_weights((0, 1))
