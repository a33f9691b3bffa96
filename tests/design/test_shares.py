from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from effort import a_few
from sfumato.design.shares import SharesLost, lost_shares
from sfumato.design.shares.columns import ByPrograms, HighAndLow, Listed, UpAndDown, ray_source
from sfumato.design.shares.descent import descended
from sfumato.design.shares.measure import ColumnMeasure, best_masses
from sfumato.design.shares.optimal import output_names
from sfumato.design.shares.relaxation import relaxed_bound
from sfumato.errors import InvalidInput, Mismatch, NotConverged, NotSupported
from sfumato.measures import share_variance
from sfumato.threads import one_thread, thread_counts
from sfumato.watch import TimeIsUp, Watch

ANSWERS = sf.line(["never", "rarely", "sometimes", "often"])
PRIVACY = sf.PrivacyType(ANSWERS, alpha="1/2")


def best(space: Any, what: Any = None, **options: Any) -> Any:
    privacy = sf.PrivacyType(space, **{name: options.pop(name) for name in ("alpha", "epsilon") if name in options})
    return sf.design(options.pop("prior", None), None, privacy, objective=sf.objectives.shares(what), **options)


def test_outputs_are_called_after_the_answers_they_are_likeliest_for() -> None:
    outputs = best(ANSWERS, alpha="1/2").mechanism.outputs
    assert "never" in outputs and "never or sometimes" in outputs and len(set(outputs)) == len(outputs)
    assert output_names(np.array([[2, 2, 1], [1, 1, 2]]), ("a", "b")) == ("a", "a (2)", "b")


def test_the_guessed_distribution_matters() -> None:
    guess = sf.Prior(ANSWERS, ["7/10", "1/10", "1/10", "1/10"])
    there = best(ANSWERS, alpha="1/2", prior=guess)
    uniform = best(ANSWERS, alpha="1/2")
    assert there.loss <= share_variance(guess, uniform.mechanism.channel)
    assert there.prior is guess and there.remap["never"] == "never"


@pytest.mark.parametrize(
    ("space", "kind"),
    [(sf.line(18), UpAndDown), (sf.discrete(17), HighAndLow), (sf.grid(2, 5), ByPrograms), (sf.line(9), Listed)],
    ids=["line", "discrete", "grid", "listed"],
)
def test_beyond_lists_the_bound_is_a_relaxation(space: sf.FiniteSpace, kind: type) -> None:
    n, privacy = len(space), sf.PrivacyType(space, alpha="1/2") if space.name[:4] != "grid" else None
    privacy = privacy or sf.PrivacyType(space, epsilon="0.7")
    assert isinstance(ray_source(privacy, np.full(n, 1 / n)), kind)
    found = sf.design(None, None, privacy, objective="shares", tolerance=1e-2)
    assert found.proved == (kind is Listed)
    assert found.mechanism.claim is None or found.proved
    assert 0 < found.bound <= found.loss
    assert found.gap < (0.5 if kind is ByPrograms else 0.05)
    value = float(share_variance(sf.Prior.uniform(space), sf.Channel(space, np.asarray(found.mechanism))))
    assert value <= float(found.loss) * (1 + 1e-9)


@pytest.mark.parametrize("lengths", [[1] * 3 + [1000] + [1] * 15, [14] * 55], ids=["one edge", "all edges"])
def test_columns_on_lines_are_numbers_however_long_the_edges(lengths: list[int]) -> None:
    space = sf.graph([(x, x + 1, length) for x, length in enumerate(lengths)])
    n, privacy = len(space), sf.PrivacyType(space, epsilon=1)
    source = ray_source(privacy, np.full(n, 1 / n))
    assert isinstance(source, UpAndDown)
    wanted = np.eye(n) - 1 / n
    start = source.start(wanted)
    measure = ColumnMeasure(np.full(len(start), 1 / len(start)), 1.0, wanted, np.ones(n))
    columns, excess = source.beyond(measure, start, Watch())
    assert np.isfinite(columns).all() and np.isfinite(excess).all()
    assert np.allclose(columns.mean(axis=1), 1)


_APART = np.random.default_rng(5).random((30, 2)).round(3)
_TWO_TOWNS = [[town, place] for town in (0, 1000) for place in range(25)]  # whose 200 shortest pairs join neither town


@pytest.mark.parametrize(
    ("space", "epsilon"),
    [
        (sf.line(20), "1/10"),
        (sf.cycle(15), "1/5"),
        (sf.grid(4, 4), "1/10"),
        (sf.points(_APART.tolist()), "1/10"),
        (sf.points(_TWO_TOWNS), "1/100"),
        (sf.discrete(17), "1/1000"),
    ],
    ids=["line", "cycle", "grid", "points", "towns", "discrete"],
)
def test_the_relaxation_begins_where_it_is_definite(space: sf.FiniteSpace, epsilon: str) -> None:
    """From the first step on it says more than that nobody knows more than all answers."""
    privacy, n = sf.PrivacyType(space, epsilon=epsilon), len(space)
    assert 1.5 < relaxed_bound(privacy, np.full(n, 1 / n), np.eye(n), Watch(0.2)) < np.inf


def test_a_long_edge_leaves_the_relaxation_its_worth() -> None:
    bounds = [
        relaxed_bound(sf.PrivacyType(sf.graph([(x, x + 1, long if x == 3 else 1) for x in range(19)]), epsilon=1),
                      np.full(20, 1 / 20), np.eye(20), Watch())
        for long in (40, 1000)
    ]  # fmt: skip
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-3)


@pytest.mark.parametrize("epsilon", ["1/1000", "1", "4"])
def test_the_lift_is_definite_for_any_distribution(epsilon: str) -> None:
    rare = np.array([1 - 1e-3, *[1e-3 / 15] * 15, 0.0])
    assert 1.01 < relaxed_bound(sf.PrivacyType(sf.discrete(17), epsilon=epsilon), rare, np.eye(17), Watch(1)) < np.inf


@pytest.mark.parametrize("epsilon", ["1/10000", "1/10", "2", "25"])
@pytest.mark.parametrize("space", [sf.line(8), sf.cycle(7), sf.discrete(6), sf.grid(2, 3)], ids=str)
def test_a_relaxation_is_below_what_is_best(space: sf.FiniteSpace, epsilon: str) -> None:
    privacy, n = sf.PrivacyType(space, epsilon=epsilon), len(space)
    listed = sf.design(None, None, privacy, objective="shares", time_limit=10)
    bound = relaxed_bound(privacy, np.full(n, 1 / n), np.eye(n), Watch(60)) - 1 / n
    assert 0.6 * listed.loss < bound <= listed.loss


@pytest.mark.parametrize("epsilon", a_few(["1/10", "50", "1/10000", "1000"], 2))
@pytest.mark.parametrize(
    "space", [sf.line(20), sf.discrete(17), sf.points(_APART.tolist()), sf.points(_TWO_TOWNS)], ids=str
)
def test_shares_at_any_epsilon_have_a_loss_and_a_bound(space: sf.FiniteSpace, epsilon: str) -> None:
    found = sf.design(None, None, sf.PrivacyType(space, epsilon=epsilon), objective="shares", time_limit=1)
    assert 0 < found.bound <= found.loss < np.inf


def test_a_variance_beyond_floats_is_said() -> None:
    with pytest.raises(NotConverged, match="beyond floats: take a larger epsilon"):
        best(sf.discrete(17), epsilon=Fraction(1, 10**200), time_limit=1)


def test_searched_columns_are_as_good_as_listed_ones() -> None:
    """On a line of ten, where rays can be listed, turning edges finds the same value."""
    privacy, weights = sf.PrivacyType(sf.line(10), alpha="1/2"), np.full(10, 1 / 10)
    listed = best(sf.line(10), alpha="1/2")
    rates = privacy.rate * np.ones(9)
    source = UpAndDown(weights, rates)
    columns = source.start(np.eye(10))
    masses = np.full(len(columns), 1 / len(columns))
    with one_thread():
        for _ in range(12):
            measure = best_masses(columns, np.eye(10), masses, 1e-6, Watch())
            extra, excess = source.beyond(measure, columns, Watch())
            kept = measure.masses > 1e-6
            fresh = extra[excess > 1e-7][:100]
            columns = np.concatenate([columns[kept], fresh])
            masses = np.concatenate([measure.masses[kept], np.full(len(fresh), 1e-3)])
    assert measure.value - 1 / 10 == pytest.approx(float(listed.loss), rel=1e-5)


@pytest.mark.parametrize("alpha", ["1/4", "1/2"])
@pytest.mark.parametrize("what", [[[1, 1, 0, 0]], [[1, 0, 0, 0]], "mean", [[1, -1, 0, 0], [0, 0, 1, -1]]], ids=str)
@pytest.mark.parametrize("counts", [[1, 1, 1, 1], [5, 3, 2, 0]], ids=str)
def test_workloads_that_ask_for_less_than_all_shares(alpha: str, what: Any, counts: list[int]) -> None:
    """The best W is singular there, or nearly so."""
    space = sf.line(4)
    found = best(space, what, alpha=alpha, prior=sf.Prior.from_counts(counts, space))
    assert found.gap < 1e-4 and found.proved


_HOUSE = sf.graph([(0, 1), (0, 2), (0, 3), (0, 5), (1, 4), (2, 3), (2, 4), (2, 5)])


@pytest.mark.parametrize(
    ("space", "row", "epsilon", "counts"),
    [
        (_HOUSE, [-2, 2, -1, 2, 0, 0], "1", None),
        (sf.graph([(0, 1), (0, 2), (2, 3)]), [2, -2, -2, 0], "2", None),
        (sf.graph([(0, 1), (0, 4), (1, 2), (1, 3), (2, 3)]), [0, 0, 0, 0, 1], "1/10", [3, 5, 6, 1, 0]),
        (sf.line(5), [0, 1, 0, 0, 0], "4", None),
        (sf.line(6), [0, 0, 0, 1, 0, 0], "2", None),
        (sf.discrete(6), [-2, 1, -1, 0, 2, 0], "2", None),
        (sf.cycle(7), [2, -2, 2, -2, 1, 0, -2], "1/3", None),
        (sf.discrete(4), [0, 0, 1, 0], "12", None),
        (sf.cycle(3), [2, 2, 2], "1", [1, 4, 8]),
    ],
    ids=str,
)
def test_one_row_is_finished_where_loss_and_bound_meet(
    space: sf.FiniteSpace, row: list[int], epsilon: str, counts: list[int] | None
) -> None:
    """The best W is singular for nearly every row, and a variance may be far smaller than the square of a mean."""
    prior = None if counts is None else sf.Prior.from_counts(counts, space)
    found = best(space, [row], epsilon=epsilon, prior=prior, tolerance=1e-6)
    assert found.proved and not found.stopped and found.gap <= 1e-6


def test_what_is_not_within_the_tolerance_is_not_finished() -> None:
    found = best(sf.line(5), [[0, 1, 0, 0, 0]], epsilon="1", tolerance=1e-17)
    assert found.stopped and 0 <= found.gap < 1e-6


def test_matrices_of_shares_are_multiplied_on_one_thread() -> None:
    def counts() -> list[int]:
        return [count() for count, _ in thread_counts()]

    before, seen = counts(), []
    best(ANSWERS, alpha="1/2", progress=lambda state: seen.extend(counts() if state.iteration else []))
    assert before and {*seen} == {1} and counts() == before


def test_few_columns_are_kept() -> None:
    found = best(sf.discrete(8), alpha="1/3")
    assert len(found.mechanism.outputs) <= 36


def test_progress_is_told_and_ctrl_c_keeps_what_there_is() -> None:
    states: list[Any] = []
    best(sf.line(11), alpha="1/2", progress=states.append)
    assert any(state.stage == "repairing and proving" for state in states)
    values = [state.value for state in states if np.isfinite(state.value)]
    assert values and all(state.bound <= state.value * (1 + 1e-9) for state in states)

    def stop(state: Any) -> None:
        if state.iteration == 1:
            raise KeyboardInterrupt

    ended = best(sf.line(11), alpha="1/2", progress=stop)
    assert ended.stopped and ended.bound <= ended.loss and ended.proved


def test_a_time_limit_ends_with_something_proved() -> None:
    ended = best(sf.line(12), alpha="1/2", time_limit=0.01)
    assert ended.stopped and ended.proved and ended.gap < 1


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((None, sf.losses.distance(ANSWERS), PRIVACY), {}, NotSupported),
        ((None, None, PRIVACY), {"outputs": ["never"]}, NotSupported),
        ((None, None, PRIVACY), {"solver": "highs"}, NotSupported),
        ((None, None, None), {}, InvalidInput),
        ((sf.Prior.uniform(sf.line(3)), None, PRIVACY), {}, Mismatch),
        ((None, None, sf.PrivacyType(sf.line(1), alpha="1/2")), {}, InvalidInput),
        ((None, None, sf.PrivacyType(sf.graph([("a", "b"), ("c", "d")]), alpha="1/2")), {}, NotSupported),
    ],
)
def test_what_does_not_go_with_shares(arguments: Any, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sf.design(*arguments, objective="shares", **options)


def test_a_loss_is_asked_for_where_shares_are_not() -> None:
    with pytest.raises(InvalidInput):
        sf.design(None, None, PRIVACY)


def test_lost_shares_are_said() -> None:
    guess = sf.Prior(ANSWERS, ["2/5", "3/10", "1/5", "1/10"])
    with pytest.warns(SharesLost, match="ask for objective = 'shares'"):
        merged = sf.design(guess, sf.losses.distance(ANSWERS), PRIVACY)
    assert len(merged.mechanism.outputs) < 4 and lost_shares(merged.mechanism)
    assert not lost_shares(sf.geometric(PRIVACY))
    numbered = sf.PrivacyType(sf.line(4), alpha="1/2")
    unnamed = sf.design(sf.Prior(sf.line(4), guess.weights), sf.losses.distance(sf.line(4)), numbered)
    assert lost_shares(unnamed.mechanism)  # what the shell says, without a warning in Python
    assert not lost_shares(unnamed.mechanism, named=True)
    counts = sf.count_query(3)
    told = sf.design(sf.Prior(counts, guess.weights), sf.losses.distance(counts), sf.PrivacyType(counts, alpha="1/2"))
    assert not lost_shares(told.mechanism)  # answers of a query are no answers of people


def test_descents_turn_back_where_a_function_is_infinite() -> None:
    def valley(point: np.ndarray) -> tuple[float, np.ndarray]:
        if point[0] <= 0:
            return np.inf, point
        return float(point[0] - np.log(point[0]) + point[1] ** 2), np.array([1 - 1 / point[0], 2 * point[1]])

    end = descended(valley, np.array([5.0, 3.0]), 200, lambda: False)
    assert end == pytest.approx([1.0, 0.0], abs=1e-3)
    assert descended(valley, np.array([5.0, 3.0]), 200, lambda: True) == pytest.approx([5.0, 3.0])


def test_measures_stop_when_the_time_is_up() -> None:
    rays = np.array([[1.5, 0.5], [0.5, 1.5]])
    with pytest.raises(TimeIsUp):
        best_masses(rays, np.eye(2), np.array([0.5, 0.5]), 1e-9, Watch(0))
    assert best_masses(rays, np.eye(2), np.array([0.3, 0.9]), 1e-9, Watch()).masses == pytest.approx([0.5, 0.5])


def test_what_is_designed_is_no_worse_than_what_is_known() -> None:
    """Rays that are searched for no time at all are far from the best ones, and a mechanism with a name is not."""
    privacy = sf.PrivacyType(sf.discrete(20), epsilon="0.7")
    mean = sf.objectives.shares("mean")
    compared = sf.compare_known(None, None, privacy, objective=mean, optimal=False)
    made = sf.design(None, None, privacy, objective=mean, time_limit=0)
    least = float(compared.rows[0].variance) * (1 + 1e-6)
    assert float(made.loss) <= least and sf.verify(made.mechanism)
    assert made.method in {row.name.replace("_", " ") for row in compared.rows if float(row.variance) <= least}


def test_where_a_closed_form_is_best_it_is_what_is_designed() -> None:
    privacy = sf.PrivacyType(sf.discrete(8), epsilon=1)
    known = sf.mechanisms.subset_selection(privacy)
    made = sf.design(None, None, privacy, objective="shares", time_limit=1)
    assert made.method == "subset selection" and made.mechanism.outputs == known.outputs
