"""Mechanisms side by side: words of letters, a day of places, a form of several answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.certify.charge import Charge, sha
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import Domain, draw_digest, no_table
from sfumato.draws.plans import Product, TablePlan, Tuples
from sfumato.errors import InvalidInput, expect, shown
from sfumato.numbers import Array


@dataclass(frozen=True, eq=False, repr=False)
class ProductMechanism:
    """Mechanisms side by side on the product of their spaces, with the sum of their promises; never a table.

    M(x₁, …, x_k)(y₁, …, y_k) = Π M_i(x_i)(y_i). Ratios multiply, so the promise ε₁d₁ + … + ε_k d_k is kept because
    each factor is proved to keep its own. The product of tight-constraints mechanisms is the tight-constraints
    mechanism of the product: Φ is a Kronecker product, and so is z.
    """

    about: ClassVar[Literal["secrets"]] = "secrets"
    drawn_as: ClassVar[Literal["table"]] = "table"

    factors: tuple[Mechanism, ...]

    def __repr__(self) -> str:
        return f"ProductMechanism({' × '.join(str(len(f.secrets)) for f in self.factors)} secrets, proved)"

    def __len__(self) -> int:
        return prod(len(factor.secrets) for factor in self.factors)

    @cached_property
    def total(self) -> int:
        """What the weights of a row sum to."""
        return prod(factor.total for factor in self.factors)

    @property
    def domain(self) -> Domain:
        """The product of the spaces."""
        units = {factor.privacy.space.unit for factor in self.factors}
        name = " × ".join(factor.privacy.space.name for factor in self.factors)
        return Domain(name, units.pop() if len(units) == 1 else "")

    @property
    def secrets(self) -> Sequence[tuple[Any, ...]]:
        """Tuples of labels, one for each factor."""
        return Tuples([factor.secrets for factor in self.factors])

    @property
    def outputs(self) -> Sequence[tuple[Any, ...]]:
        """Tuples of outputs, one of each factor."""
        return Tuples([factor.outputs for factor in self.factors])

    def as_plan(self) -> Product:
        """The tables of the factors; one mechanism that occurs many times has one table."""
        tables: dict[int, tuple[TablePlan, bytes]] = {}
        for factor in self.factors:
            if id(factor) not in tables:
                plan = factor.as_plan()
                tables[id(factor)] = plan, draw_digest(factor.secrets, factor.outputs, plan)
        parts = [tables[id(factor)] for factor in self.factors]
        return Product(tuple(plan.tables for plan, _ in parts), tuple(digest for _, digest in parts))

    def as_charge(self) -> Charge:
        """The largest ε of a factor for the sum of the metrics: Σ ε_i d_i ≤ max ε_i · Σ d_i."""
        parts = [factor.as_charge() for factor in self.factors]
        if any(part.delta is not None for part in parts):
            raise InvalidInput(
                "a factor of this product promises something about events, not about distances, which has no sum with "
                "the others: charge each factor as a release of a column of its own"
            )
        if len({part.unit for part in parts}) > 1:
            units = ", ".join(shown(part.unit) for part in parts[:4])
            raise InvalidInput(
                f"the distances of these factors are in different units, {units}, and do not add up: charge each "
                "factor as a release of a column of its own"
            )
        dearest = max(parts, key=lambda part: part.rate)
        metric, mechanism, noise = (
            sha(b"product", *(getattr(part, which).encode() for part in parts))
            for which in ("metric", "mechanism", "noise")
        )
        return Charge(self.domain.name, dearest.unit, metric, dearest.text, mechanism, noise)

    def as_table(self) -> Mechanism:
        """Refused: each factor is one."""
        raise no_table(self, "each of its factors, one at a time")

    def row_weights(self, secret: tuple[Any, ...]) -> Array:
        """The integer weights of one row, one axis a factor."""
        rows = (factor.row_weights(label).astype(object) for factor, label in self._labelled(secret))
        return np.asarray(reduce(np.multiply.outer, rows))

    def row(self, secret: tuple[Any, ...]) -> NDArray[np.float64]:
        """The output distribution of one secret in floats, one axis a factor."""
        labelled = self._labelled(secret)
        rows = (factor.row_weights(label).astype(np.float64) / float(factor.total) for factor, label in labelled)
        return np.asarray(reduce(np.multiply.outer, rows))

    @cached_property
    def utility(self) -> Fraction:
        """The chance that a uniformly distributed secret is reported truly."""
        shares = (Fraction(sum(int(w) for w in np.diagonal(f.weights)), f.total * len(f.secrets)) for f in self.factors)
        return prod(shares, start=Fraction(1))

    def _labelled(self, secret: Any) -> list[tuple[Mechanism, Any]]:
        """Each factor with its part of a secret."""
        if not isinstance(secret, tuple) or len(secret) != len(self.factors):
            raise InvalidInput(f"a secret is a tuple of {len(self.factors)} labels, found {shown(secret)}")
        return list(zip(self.factors, secret, strict=True))


def product_mechanism(*factors: Mechanism) -> ProductMechanism:
    """Mechanisms side by side.

    Examples
    --------
    >>> import sfumato as sf
    >>> letter = sf.tight_constraints(sf.PrivacyType(sf.discrete(4), alpha="1/2"))
    >>> product_mechanism(*[letter] * 10).utility == Fraction(2, 5) ** 10       # words of ten letters
    True
    """
    if not factors:
        raise InvalidInput("a product needs at least one mechanism")
    return ProductMechanism(tuple(expect(f, Mechanism, "a factor of a product") for f in factors))
