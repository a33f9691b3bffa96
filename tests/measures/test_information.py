from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.measures import mutual_information, shannon_capacity


def entropy(p: float) -> float:
    return -p * log2(p) - (1 - p) * log2(1 - p)


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 4), Fraction(499, 1000)])
def test_what_textbooks_say(p: Fraction) -> None:
    flipping = shannon_capacity(sf.Channel(range(2), [[1 - p, p], [p, 1 - p]]))
    assert flipping.lower == pytest.approx(1 - entropy(float(p)), rel=1e-9, abs=1e-15)
    erasing = shannon_capacity(sf.Channel(range(2), [[1 - p, 0, p], [0, 1 - p, p]]))
    assert erasing.lower <= 1 - p <= erasing.upper
    # the Z-channel: one of two secrets is told wrongly with probability p
    z_channel = shannon_capacity(sf.Channel(range(2), [[1, 0], [p, 1 - p]]))
    q = float(p)
    assert z_channel.upper == pytest.approx(log2(1 + (1 - q) * q ** (q / (1 - q))), abs=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_both_ends(n: int) -> None:
    told = shannon_capacity(sf.Channel.identity(range(n)))
    assert Fraction(told.lower) <= Fraction(told.upper)
    assert told.upper - told.lower <= 1e-14 and told.lower == pytest.approx(log2(n), abs=1e-14)
    untold = shannon_capacity(sf.Channel.constant(range(n)))
    assert (untold.lower, untold.upper) == (0.0, pytest.approx(0, abs=1e-30))


def test_the_enclosure_is_narrow_where_the_best_prior_is_degenerate() -> None:
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.ones(5), 3)
    cases = [
        np.repeat(rows, 4, axis=0),  # many best priors
        rng.dirichlet(np.full(20, 0.05), 20),  # probabilities down to 1e-300
        rng.dirichlet(np.ones(3), 40),  # most secrets are not used
        0.25 + 1e-7 * (np.eye(4) - 0.25),  # hardly anything is told
        sf.geometric(sf.PrivacyType(sf.line(40), epsilon=0.1)).channel.to_floats().matrix,
    ]
    for matrix in cases:
        found = shannon_capacity(sf.Channel(range(len(matrix)), matrix))
        assert 0 <= found.upper - found.lower <= 1e-12
        assert mutual_information(found.prior, sf.Channel(range(len(matrix)), matrix)) == pytest.approx(
            found.lower, abs=1e-12
        )


def test_outputs_that_never_occur_do_not_count() -> None:
    with_none = sf.Channel(range(2), [["3/4", 0, "1/4"], ["1/4", 0, "3/4"]])
    without = sf.Channel(range(2), [["3/4", "1/4"], ["1/4", "3/4"]])
    one, other = shannon_capacity(with_none), shannon_capacity(without)
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


def test_something_else_is_refused() -> None:
    with pytest.raises(InvalidInput, match="channel"):
        shannon_capacity([[1, 0], [0, 1]])  # type: ignore[arg-type]
