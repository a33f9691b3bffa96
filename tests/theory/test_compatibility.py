"""ε*(γ, δ), its curves, and the bounds around it."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.theory.compatibility import (
    best_measure,
    chance_of_missing,
    database_size,
    epsilon_star,
    finite_function,
    has_utility,
    least_exponential,
    net_measure,
    normalised,
    packing_bound,
    theorem_34,
    tradeoff_grid,
)
from sfumato.theory.compatibility.utility import utility
from sfumato.verdict import Outcome


@pytest.mark.parametrize(("n", "delta"), [(2, "1/4"), (3, "1/10"), (5, "1/1000"), (4, "0.6")])
def test_discrete_spaces_have_a_closed_form(n: int, delta: str) -> None:
    """δ*(ε) = (n − 1)/(n − 1 + e^ε), attained by random response."""
    found = epsilon_star(sf.discrete(n), 0, delta)
    chance = float(Fraction(delta))
    truth = log((n - 1) * (1 - chance) / chance)
    assert found.high is not None
    assert found.low < truth <= found.high
    assert found.high - found.low <= Fraction(1, 1000) * found.high


def test_both_ends_are_proved_by_the_kernel() -> None:
    space = sf.grid(3, 3)
    found = epsilon_star(space, 1, "1/5")
    assert found.mechanism is not None and found.refuted is not None and found.high is not None
    assert sf.verify(found.mechanism)
    assert found.mechanism.privacy.epsilon == found.high
    assert found.missing == chance_of_missing(found.mechanism, space, 1) <= Fraction(1, 5)
    assert has_utility(found.mechanism, space, 1, "1/5")
    refuted = found.refuted.mechanism
    assert sf.verify(refuted)
    assert refuted.privacy.epsilon == found.low
    assert refuted.proof.bound is not None and refuted.proof.bound > Fraction(1, 5)
    assert bool(found.achievable(found.high)) and bool(found.achievable(2 * found.high))
    assert found.achievable(found.low).outcome is Outcome.FAILS
    assert found.achievable((found.low + found.high) / 2).outcome is Outcome.UNDECIDED


def test_nothing_has_to_be_said_where_one_answer_suits_all() -> None:
    found = epsilon_star(sf.spaces.star(4), 1, 0)
    assert (found.low, found.high, found.missing) == (0, 0, 0)
    assert found.mechanism is not None and found.mechanism.outputs == (0,)
    assert bool(found.achievable("1/1000000"))
    with pytest.raises(InvalidInput, match="epsilon must be positive, found 0"):  # which no privacy type has
        found.achievable(0)
    assert epsilon_star(sf.line(9), 2, "1/2").high == 0  # halves on 2 and 6 miss only half of the time
    assert epsilon_star(sf.line(9), 2, "0.49").low > 0


def test_what_no_epsilon_buys() -> None:
    closed, opened = epsilon_star(sf.line(3), 0, 0), epsilon_star(sf.line(3), 0, "1/2", ball="open")
    for found in (closed, opened):
        assert not found.finite
        assert found.achievable(100).outcome is Outcome.FAILS
        with pytest.raises(InvalidInput, match="no number of records"):
            database_size(found, 1)
    assert "open ball around f(0)" in opened.reason
    assert "δ = 0" in repr(closed)


def test_components_promise_each_other_nothing() -> None:
    far = np.inf
    space = sf.FiniteSpace(["a", "b", "c"], [[0, 1, far], [1, 0, far], [far, far, 0]])
    found = epsilon_star(space, 0, "1/4")
    assert found.high is not None
    assert found.low < log(3) <= found.high  # that of two points
    assert epsilon_star(space, 1, 0).high == 0


def test_open_and_closed_balls_differ_where_a_distance_is_met() -> None:
    space = sf.points([["0", "0"], ["1", "1"], ["3", "0"]])
    for gamma, same in (("1.4", True), (3, False)):
        closed, opened = utility(space, gamma, "closed").far, utility(space, gamma, "open").far
        assert (closed == opened).all() == same
    one, other = epsilon_star(sf.line(6), 2, "1/10", "open"), epsilon_star(sf.line(6), "1.5", "1/10")
    assert one.high is not None and other.high is not None
    assert one.low < other.high and other.low < one.high
    assert chance_of_missing(sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")), sf.line(4), 0, ball="open") == 1


def test_a_function_of_databases() -> None:
    """A count over three bits: mechanisms on bits cannot do better than those on counts, and no worse."""
    count = finite_function(lambda bits: bits.count("1"), sf.hamming(3), sf.line(4))
    one, other = epsilon_star(count, 0, "1/4"), epsilon_star(sf.line(4), 0, "1/4")
    assert one.high is not None and other.high is not None and one.mechanism is not None
    assert one.low < other.high and other.low < one.high
    assert one.mechanism.secrets == sf.hamming(3).labels
    with pytest.raises(Mismatch, match="values of a function"):
        finite_function(len, sf.hamming(3), sf.line(3))


def test_lipschitz_functions_are_rescaled() -> None:
    steep = finite_function(lambda x: 3 * x, sf.line(4), sf.line(10))
    rescaled, constant = normalised(steep)
    assert constant == steep.lipschitz == 3 and rescaled.lipschitz == 1
    whole, part = epsilon_star(steep, 2, "1/10"), epsilon_star(rescaled, 2, "1/10")
    assert whole.high is not None and part.high is not None
    assert whole.low < constant * part.high and constant * part.low < whole.high
    roots = finite_function(lambda x: x, sf.points([[0, 0], [1, 1]]), sf.points([[0, 0], [1, 1]]))
    assert roots.lipschitz == pytest.approx(1) and roots.lipschitz >= 1
    constant_function = finite_function(lambda x: 0, sf.line(3), sf.line(2))
    assert constant_function.lipschitz == 0
    with pytest.raises(InvalidInput, match="constant"):
        normalised(constant_function)


def test_database_sizes() -> None:
    found = epsilon_star(sf.discrete(3), 0, "1/4")  # ln 6 = 1.7917…
    assert (database_size(found, "0.1").needed, database_size(found, "0.1").enough) == (18, 18)
    assert (database_size(found, 2).needed, database_size(found, 2).enough) == (1, 1)
    assert database_size(epsilon_star(sf.discrete(3), 1, "1/4"), "0.1").enough == 1
    with pytest.raises(InvalidInput, match="positive"):
        database_size(found, 0)


def test_bounds_are_in_order() -> None:
    for space, gamma, delta in ((sf.line(12), 2, "1/10"), (sf.cycle(7), 1, "1/5"), (sf.grid(3, 3), 1, "1/4")):
        star = epsilon_star(space, gamma, delta)
        assert star.high is not None
        packed = packing_bound(space, gamma, delta)
        assert 0 < packed.epsilon <= star.high
        best, uniform = (least_exponential(space, gamma, delta, base=base) for base in ("best", "uniform"))
        assert star.low <= best.epsilon <= uniform.epsilon
        for base in ("nets", "uniform"):
            bound = theorem_34(space, gamma, delta, base=base)
            assert uniform.epsilon <= bound.epsilon
            assert bound.really.epsilon <= float(bound.epsilon) * (1 + 1e-8)
            assert bound.really.missing <= Fraction(delta)
            assert sf.verify(bound.really.mechanism)


def test_a_packing_is_checked_by_hand() -> None:
    found = packing_bound(sf.discrete(4), 0, "1/4")
    assert found.packing == (0, 1, 2, 3)
    assert float(found.epsilon) == pytest.approx(log(9), rel=1e-8) and found.epsilon < Fraction(log(9))
    assert packing_bound(sf.line(4), 5, "1/4").epsilon == 0
    assert packing_bound(sf.discrete(3), 0, "3/4").epsilon == 0
    with pytest.raises(InvalidInput, match="delta = 0"):
        packing_bound(sf.line(4), 1, 0)


def test_exponential_mechanisms_on_symmetric_spaces_are_the_best_there_are() -> None:
    star, made = epsilon_star(sf.cycle(8), 1, "3/10"), least_exponential(sf.cycle(8), 1, "3/10")
    assert star.high is not None
    assert float(star.low) < made.epsilon <= float(star.high) * (1 + 1e-6)
    assert made.epsilon == pytest.approx(made.beta, rel=1e-6)


def test_base_measures() -> None:
    weights = net_measure(sf.line(9))
    assert sum(weights) == 1 and min(weights) > 0
    halves = finite_function(lambda x: 2 * x, sf.line(3), sf.line(5))
    assert [str(mass) for mass in net_measure(halves)] == ["5/12", "0", "1/6", "0", "5/12"]
    optimised = best_measure(sf.line(12), 2, "1/10")
    assert optimised.sum() == pytest.approx(1)
    better, uniform = (least_exponential(sf.line(12), 2, "1/10", base=base) for base in ("best", "uniform"))
    assert better.epsilon < 0.95 * uniform.epsilon
    given = least_exponential(sf.line(4), 1, "1/10", base=[2, 1, 1, 2])
    assert given.missing <= Fraction(1, 10)
    for base, error in (("flat", NotSupported), ([1, 2], InvalidInput), ([0, 0, 0, 0], InvalidInput)):
        with pytest.raises(error):
            least_exponential(sf.line(4), 1, "1/10", base=base)
    with pytest.raises(InvalidInput, match="no mass"):
        theorem_34(sf.line(4), 1, "1/10", base=[1, 0, 0, 0])
    with pytest.raises(InvalidInput, match="no mass"):
        least_exponential(sf.line(4), 0, "1/10", base=[1, 0, 0, 0])
    with pytest.raises(InvalidInput, match="gamma > 0"):
        theorem_34(sf.line(4), 0, "1/10")
    with pytest.raises(InvalidInput, match="positive"):
        least_exponential(sf.line(4), 1, 0)


def test_the_curve_agrees_with_single_values() -> None:
    space, deltas = sf.line(12), ["0.02", "0.06", "0.1", "0.2", "0.8"]
    found = tradeoff_grid(space, [0, 1, "1.5", 12], deltas)
    assert found.cells[1] is found.cells[2]  # the same balls
    assert all(cell.high == 0 for cell in found.cells[3])
    assert (np.diff(found.high, axis=1) <= 0).all() and (np.diff(found.low, axis=0) <= 0).all()
    for i, gamma in enumerate((0, 1)):
        for j, delta in enumerate(deltas):
            cell, single = found.cells[i][j], epsilon_star(space, gamma, delta, precision=0.02)
            assert cell.high is not None and single.high is not None
            if not single.high:
                assert cell.high == 0
                continue
            assert cell.low < single.high and single.low < cell.high <= cell.low / Fraction("0.95")
            assert cell.mechanism is not None and cell.refuted is not None and cell.missing is not None
            assert cell.missing == chance_of_missing(cell.mechanism, space, gamma) <= Fraction(delta)
            assert cell.mechanism.privacy.epsilon == cell.high
            assert cell.refuted.privacy.epsilon == cell.low
            assert cell.refuted.proof.bound is not None and cell.refuted.proof.bound > Fraction(delta)
            assert sf.verify(cell.refuted)
    assert found.solved <= 4 * 8  # for eight values that are not 0


def test_a_curve_where_nothing_helps() -> None:
    found = tradeoff_grid(sf.line(3), [0], [0, "1/10"], "open")
    assert np.isinf(found.high).all() and not found.low.any()
    assert tradeoff_grid(sf.line(3), [0], [0]).cells[0][0].high is None


def test_bad_questions() -> None:
    with pytest.raises(InvalidInput, match="negative"):
        epsilon_star(sf.line(3), -1, "1/2")
    with pytest.raises(InvalidInput, match="below 1"):
        epsilon_star(sf.line(3), 1, 1)
    with pytest.raises(NotSupported, match="ajar"):
        epsilon_star(sf.line(3), 1, "1/2", ball="ajar")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="precision"):
        epsilon_star(sf.line(3), 1, "1/2", precision=0)
    with pytest.raises(InvalidInput, match="what is to be disclosed"):
        epsilon_star(3, 1, "1/2")  # type: ignore[arg-type]
    for arguments in (([], ["1/2"]), ([1], [])):
        with pytest.raises(InvalidInput, match="at least one"):
            tradeoff_grid(sf.line(3), *arguments)
    with pytest.raises(InvalidInput, match="precision"):
        tradeoff_grid(sf.line(3), [0], ["1/2"], precision=2)
    mechanism = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    with pytest.raises(Mismatch):
        chance_of_missing(mechanism, sf.line(4), 1)
    verdict = has_utility(mechanism, sf.line(3), 0, "1/10")
    assert verdict.outcome is Outcome.FAILS and verdict.witness == (1, Fraction(2, 3))


def test_a_float_radius_keeps_its_border() -> None:
    """The double 0.3 lies below 3/10: the ball would lose its border, and ε* would be 7.82 instead of 4.53."""
    meant = epsilon_star(sf.line(11, step="1/10"), Fraction(3, 10), Fraction(1, 10))
    assert meant.high is not None and 4.52 < meant.low < meant.high < 4.53
    for space in (sf.line(11, step="1/10"), sf.line(11, step=0.1), sf.line(11, step=np.float32(0.1))):
        found = epsilon_star(space, 0.3, 0.1)
        assert (found.low, found.high, found.gamma, found.delta) == (meant.low, meant.high, meant.gamma, meant.delta)


def test_a_typed_radius_among_measured_distances_is_rounded_as_they_are() -> None:
    """Distances in an array stay the doubles they are: 0.1 is a little more than a tenth, and on the border of it."""
    measured = sf.FiniteSpace(["a", "b"], [[0, 0.1], [0.1, 0]])
    for radius in (0.1, "1/10", Fraction(1, 10), Fraction(0.1)):
        assert not utility(measured, radius).far.any()
        assert utility(measured, radius, "open").far.any()
        assert not sf.losses.threshold(measured, radius).matrix.any()
    for radius in (np.nextafter(0.1, 0), "0.0999"):
        assert utility(measured, radius).far.any() and sf.losses.threshold(measured, radius).matrix.any()


def test_what_is_decided_about_a_logarithm_is_so_on_both_sides() -> None:
    star = epsilon_star(sf.discrete(3), 0, "1/4")  # ln 6
    assert star.achievable("ln(7)").outcome is Outcome.HOLDS and star.achievable("ln(5)").outcome is Outcome.FAILS
    assert star.achievable("ln(6)").outcome is not Outcome.FAILS
    assert sf.compatibility.database_size(star, "ln(6)/2") == sf.compatibility.database_size(star, "0.8958797346")
