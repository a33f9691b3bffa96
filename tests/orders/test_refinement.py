from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Mismatch
from sfumato.verdict import Outcome
from sfumato.watch import Watch
from strategies import channels

# The family of the boundary: with A = 0.6 I + 0.1 J and B = (1 − t)A + tI, B refines A only at t = 0.
TINY = [10.0**-k for k in range(1, 13)]


def boundary(t: Fraction) -> tuple[sf.Channel, sf.Channel]:
    a = [[Fraction(7, 10) if i == j else Fraction(1, 10) for j in range(4)] for i in range(4)]
    b = [[(1 - t) * a[i][j] + t * (i == j) for j in range(4)] for i in range(4)]
    return sf.Channel(range(4), a), sf.Channel(range(4), b)


def float_boundary(t: float) -> tuple[sf.Channel, sf.Channel]:
    a = 0.6 * np.eye(4) + 0.1
    return sf.Channel(range(4), a), sf.Channel(range(4), (1 - t) * a + t * np.eye(4))


@pytest.mark.parametrize("t", [*TINY, 1e-30, 1e-300])
def test_the_boundary_in_rationals(t: float) -> None:
    a, b = boundary(Fraction(t))
    assert sf.refines(b, a).outcome is Outcome.FAILS
    assert sf.refines(a, b).outcome is Outcome.HOLDS


@pytest.mark.parametrize("t", TINY)
def test_the_boundary_in_floats(t: float) -> None:
    a, b = float_boundary(t)
    verdict = sf.refines(b, a)
    assert verdict.outcome is Outcome.FAILS
    assert verdict.witness.margin > 0
    assert sf.refines(a, b).outcome is Outcome.HOLDS
    assert sf.refines(b, a, proof=True).outcome is Outcome.FAILS


def test_floats_never_say_fails_when_equal() -> None:
    a, b = float_boundary(0.0)
    assert sf.refines(b, a)
    assert sf.refines(a, b)
    assert sf.refines(a, a, proof=True).witness.residual == 0


@given(st.data())
@settings(max_examples=150)
def test_post_processing_refines_with_a_factor_that_multiplies_back(data: st.DataObject) -> None:
    a = data.draw(channels())
    b = sf.cascade(a, data.draw(channels(a.outputs)))
    verdict = sf.refines(b, a)
    assert verdict
    assert (sf.cascade(a, verdict.witness.post_processing).matrix == b.matrix).all()
    floating = sf.refines(b.to_floats(), a.to_floats())
    assert floating.outcome is not Outcome.FAILS
    if floating.decided:
        assert floating.witness.residual < 1e-13


@given(st.data())
@settings(max_examples=150)
def test_any_two_channels_are_decided_with_a_witness(data: st.DataObject) -> None:
    a = data.draw(channels())
    b = data.draw(channels(a.secrets))
    verdict = sf.refines(b, a)
    if verdict:
        assert (sf.cascade(a, verdict.witness.post_processing).matrix == b.matrix).all()
    else:
        seen = verdict.witness
        assert sf.measures.posterior_vulnerability(seen.prior, b, seen.gain) == seen.from_b
        assert sf.measures.posterior_vulnerability(seen.prior, a, seen.gain) == seen.from_a
        assert seen.from_b > seen.from_a
        assert seen.gain.matrix.min() >= 0
        assert seen.gain.matrix.max() <= 1
    floating = sf.refines(b.to_floats(), a.to_floats())
    assert floating.outcome in (verdict.outcome, Outcome.UNDECIDED)


def nearly_geometric(seed: int) -> sf.Channel:
    """Five rows of fifteen weights that fall by halves, each moved by its last digits."""
    rng, total = np.random.default_rng(seed), 10**15
    falling = 2.0 ** -np.abs(np.arange(15)[None, :] - np.arange(5, 10)[:, None])
    rows = (falling / falling.sum(axis=1, keepdims=True) * total).astype(int) + rng.integers(0, 3, (5, 15))
    rows[:, 0] += total - rows.sum(axis=1)
    return sf.Channel(range(5), [[Fraction(int(v), total) for v in row] for row in rows])


def test_a_channel_refines_itself_in_any_order_of_outputs_split_or_joined() -> None:
    a = nearly_geometric(0)
    halves = np.concatenate([a.matrix[:, ::-1] / 3, a.matrix * Fraction(2, 3), 0 * a.matrix[:, :1]], axis=1)
    split = sf.Channel(range(5), halves)
    # a watch whose time is up lets no program begin
    for safer, other in ((a, a), (split, a), (a, split)):
        verdict = sf.refines(safer, other, time_limit=0)
        assert verdict.outcome is Outcome.HOLDS and verdict.witness.residual == 0
        assert (sf.cascade(other, verdict.witness.post_processing).matrix == safer.matrix).all()


def test_what_is_not_decided_in_time_is_undecided() -> None:
    a, b = nearly_geometric(0), nearly_geometric(1)
    ticks = iter(range(10**9))
    verdict = sf.refines(b, a, time_limit=Watch(100.0, lambda: float(next(ticks))))
    assert verdict.outcome is Outcome.UNDECIDED and "time limit" in verdict.reason
    assert sf.refines(b.to_floats(), a.to_floats(), time_limit=0).outcome is Outcome.UNDECIDED
    # an elimination that cannot be interrupted does not begin where it would take longer
    rng = np.random.default_rng(2)
    big = sf.Channel(
        range(40), [[Fraction(int(v), int(row.sum())) for v in row] for row in rng.integers(1, 99, (40, 40))]
    )
    moved = sf.Channel(range(40), np.roll(big.matrix, 1, axis=0))
    assert sf.refines(moved, big, time_limit=Watch(0.001, lambda: 0.0)).outcome is Outcome.UNDECIDED


def test_dependent_columns_need_a_program() -> None:
    wide = sf.Channel([0, 1], [["1/4", "1/4", "1/2"], ["1/2", "1/4", "1/4"]])
    narrow = sf.Channel([0, 1], [["3/8", "5/8"], ["5/8", "3/8"]])
    assert sf.refines(narrow, wide)
    assert not sf.refines(wide, sf.Channel.constant([0, 1]))
    assert sf.refines(narrow.to_floats(), wide.to_floats())


def test_everything_lies_between_identity_and_constant() -> None:
    some = sf.Channel([0, 1, 2], [["1/2", "1/2"], ["1/3", "2/3"], [1, 0]])
    assert sf.refines(some, sf.Channel.identity([0, 1, 2]))
    assert sf.refines(sf.Channel.constant([0, 1, 2]), some)
    with pytest.raises(Mismatch):
        sf.refines(some, sf.Channel.identity("abc"[:2].split()))


def test_a_hundred_secrets_take_seconds() -> None:
    rng = np.random.default_rng(3)
    table, mix = (m / m.sum(axis=1, keepdims=True) for m in rng.random((2, 100, 100)))
    a = sf.Channel(range(100), table)
    b = sf.cascade(a, sf.Channel(range(100), mix))
    sf.refines(b, a)
    start = process_time()
    assert sf.refines(b, a)
    assert not sf.refines(a, b)
    # a second each of the processor, however busy the machine is; another method would take minutes
    assert process_time() - start < 20


def test_two_tables_of_one_irrational_mechanism_are_not_told_apart_by_their_rounding() -> None:
    privacy = sf.PrivacyType(sf.line(4), epsilon=1)
    near, far = sf.geometric(privacy), sf.tight_constraints(privacy)
    verdict = sf.refines(near, far)
    assert verdict.outcome == "undecided" and 0 < verdict.witness.margin < 1e-12
    assert "rounding of their tables" in verdict.reason
    assert sf.refines(near, far, proof=True).outcome == "fails"
    assert ("near", "far") in sf.orders.hasse({"near": near, "far": far}).unclear
    weaker = sf.geometric(sf.PrivacyType(sf.line(4), epsilon="1/2"))
    assert sf.refines(weaker, near) and not sf.refines(near, weaker)
