from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

import sfumato as sf
from sfumato.mechanisms.line import InfiniteGeometric, geometric
from sfumato.mechanisms.staircase import Staircase, staircase, stretch_of, stretched_geometric


def least_noise(decay: float, width: int, reach: int) -> float:
    """The least mean size of private noise on −reach, …, reach, by a linear program; all shapes are allowed."""
    values = np.arange(-reach, reach + 1)
    pairs = [
        (i, j) for i in range(len(values)) for j in range(i - width, i + width + 1) if 0 <= j < len(values) and j != i
    ]
    rows = lil_array((len(pairs), len(values)))
    for k, (i, j) in enumerate(pairs):
        rows[k, i], rows[k, j] = decay, -1.0
    found = linprog(
        np.abs(values), A_ub=rows.tocsr(), b_ub=np.zeros(len(pairs)), A_eq=np.ones((1, len(values))), b_eq=[1]
    )
    return float(found.fun)


@pytest.mark.parametrize(("decay", "width"), [("1/4", 1), ("1/4", 2), ("1/4", 3), ("1/10", 4), ("1/2", 3)])
def test_no_private_noise_is_smaller_than_the_best_staircase(decay: str, width: int) -> None:
    """Geng and Viswanath 2014, discrete case; cutting noise off at 16 periods makes it smaller by less than 1e-3."""
    best = min(float(Staircase(Fraction(decay), width, r).mean_size) for r in range(1, width + 1))
    assert least_noise(float(Fraction(decay)), width, 16 * width) == pytest.approx(best, rel=1e-3)


def test_one_step_is_geometric() -> None:
    noise, known = Staircase(Fraction(1, 3), 1, 1), InfiniteGeometric(Fraction(1, 3))
    assert all(noise.probability(i) == known.probability(0, i) for i in range(-3, 4))
    assert noise.mean_size == Fraction(3, 4)
    privacy = sf.PrivacyType(sf.line(5), alpha="1/3")
    for mechanism in (staircase(privacy), stretched_geometric(privacy)):
        assert (mechanism.channel.matrix == geometric(privacy).channel.matrix).all()


def test_ends_take_what_lies_beyond() -> None:
    privacy = sf.PrivacyType(sf.sum_query(2, 3), alpha="1/5")
    mechanism = staircase(privacy, high=2)
    noise = Staircase(Fraction(1, 5), 3, 2)
    far = 200
    for x in range(7):
        row = [Fraction(0)] * 7
        for i in range(-far, far + 1):
            row[min(max(x + i, 0), 6)] += noise.probability(i)
        missing = noise.beyond(far + 1)
        assert mechanism.channel.matrix[x].tolist() == [p + missing * (y in (0, 6)) for y, p in enumerate(row)]
    assert mechanism.provenance["high"] == 2


def test_the_default_has_the_least_noise() -> None:
    for decay, width in (("1/2", 7), ("1/100", 9), ("99/100", 8)):
        privacy = sf.PrivacyType(sf.sum_query(1, width), alpha=decay)
        best = min(range(1, width + 1), key=lambda r: Staircase(Fraction(decay), width, r).mean_size)
        chosen = Staircase(Fraction(decay), width, staircase(privacy).provenance["high"])
        assert chosen.mean_size == Staircase(Fraction(decay), width, best).mean_size


def test_floats_are_near_the_fractions() -> None:
    space = sf.sum_query(3, 4)
    for build in (staircase, stretched_geometric):
        exactly = build(sf.PrivacyType(space, alpha="1/16"))
        rounded = build(sf.PrivacyType(space, epsilon=float(np.log(16))))
        assert exactly.channel.exact and exactly.total != rounded.total == 2**52
        assert np.abs(rounded.weights / rounded.total - exactly.channel.matrix.astype(float)).max() < 1e-12


def test_the_paper_on_sums() -> None:
    """ElSalamouny et al. 2014, Figure 6(a): 150 individuals, values up to 5; right answers of geometric noise."""
    for epsilon, share in (("1", 0.100867), ("1.2", 0.1206)):
        mechanism = stretched_geometric(sf.PrivacyType(sf.sum_query(150, 5), epsilon=epsilon))
        assert float(np.trace(mechanism.weights / mechanism.total)) / 751 == pytest.approx(share, abs=1e-6)


def test_on_sums_the_staircase_loses_less_than_geometric_noise() -> None:
    space = sf.sum_query(6, 3)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    privacy = sf.PrivacyType(space, alpha="1/8")
    losses = [sf.expected_loss(prior, m.channel, loss) for m in (staircase(privacy), stretched_geometric(privacy))]
    assert losses[0] < losses[1]


@pytest.mark.parametrize(
    "space",
    [
        sf.cycle(5),
        sf.grid(2, 2),
        sf.hamming(2),
        sf.spaces.star(3),
        sf.points([0.1, 0.4]),
        sf.graph([(0, 1)], labels=[0, 1, 2]),
    ],
)
def test_other_spaces_are_refused(space: sf.FiniteSpace) -> None:
    with pytest.raises(sf.errors.NotSupported, match="stretched"):
        stretch_of(space)


@pytest.mark.parametrize(
    "arguments", [("0", 2, 1), ("1", 2, 1), ("1/2", 0, 1), ("1/2", 2, 0), ("1/2", 2, 3), ("1/2", 2.5, 1)]
)
def test_nonsense_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(sf.errors.InvalidInput):
        Staircase(*arguments)
    with pytest.raises(sf.errors.InvalidInput):
        staircase(sf.PrivacyType(sf.sum_query(2, 2), epsilon=1), high=3)
    with pytest.raises(sf.errors.InvalidInput):
        Staircase(Fraction(1, 2), 2, 1).beyond(-1)


def test_one_secret_and_other_steps() -> None:
    assert staircase(sf.PrivacyType(sf.line(1), alpha="1/2")).weights.tolist() == [[1]]
    assert stretched_geometric(sf.PrivacyType(sf.line(1), epsilon=1)).weights.tolist() == [[2**52]]
    assert stretch_of(sf.grid(3)) == (1, 1)
    assert stretch_of(sf.discrete(4, distance=2)) == (3, 2)
