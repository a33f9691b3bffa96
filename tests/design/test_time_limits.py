"""Time limits, on clocks that tests move: no solver goes on when the time is up, and something proved comes back.

What comes back is never worse than what progress has shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.design import families_places, optimal, time_budget
from sfumato.design.optimal import COMPILING, PROVING, Design, Effort, best_of
from sfumato.design.problem import Problem, problem
from sfumato.design.simple import joined, multipliers_bound, simple_answer, value_of
from sfumato.design.solvers import SOLVERS, interior_near
from sfumato.design.solvers import column_generation as generation
from sfumato.design.symmetry import symmetry
from sfumato.errors import NotConverged, NotSupported
from sfumato.lp.cone import arrays_backend, arrays_iterate, arrays_pairs, lanes_dense, lanes_iterate, lanes_sparse
from sfumato.lp.cone.program import ColumnProgress
from sfumato.numbers import floats
from sfumato.watch import TimeIsUp, Watch, _compiling

ROUNDING = 1e-9  # relative: what repair and integers may cost beside floats
SIMPLE = ("exponential noise", "one output for all", "the same noise everywhere")


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def places(n: int, seed: int = 1, epsilon: float = 1.0) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    rng = np.random.default_rng(seed)
    space = sf.points(rng.uniform(0, 4, (n, 2)).round(2))
    prior = sf.Prior.from_counts((1 + 50 * rng.exponential(size=n)).astype(int).tolist(), space)
    return prior, sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon)


def small_grid() -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    """Rational numbers all through, so that every solver takes it."""
    space = sf.grid(3, 3, metric="manhattan")
    prior = sf.Prior.from_counts([5, 1, 2, 2, 7, 1, 3, 1, 4], space)
    return prior, sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2")


def assert_proved(made: Design, shown: list[ColumnProgress]) -> None:
    """Proved again, and on either side at least as good as anything that was shown."""
    assert sf.verify(made.mechanism)
    assert made.bound <= made.loss
    size = abs(float(made.loss))
    assert float(made.loss) <= min([state.value for state in shown], default=np.inf) + ROUNDING * size
    assert float(made.bound) >= max([state.bound for state in shown], default=-np.inf) - ROUNDING * size


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_no_time_at_all_leaves_a_mechanism_that_needs_no_solver(solver: str) -> None:
    made = sf.design(*small_grid(), solver=solver, time_limit=0)
    assert made.method in SIMPLE
    assert made.stopped
    assert_proved(made, [])
    assert float(made.bound) > 0


def test_a_limit_in_which_nothing_can_be_proved_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_budget, "_LEAST_SECONDS", 1.0)
    with pytest.raises(NotSupported, match=r"within 1 s: .* a time limit of \d+ s or more"):
        sf.design(*small_grid(), time_limit=1)
    assert sf.design(*small_grid()).gap < 1


@pytest.mark.parametrize("solver", ["interior", "interior-gpu", "first-order", "interior-near"])
def test_nothing_goes_on_when_the_time_is_up(solver: str) -> None:
    asked, clock, shown = problem(*places(30)), Clock(), []

    def late_after_three(state: ColumnProgress) -> None:
        shown.append(state)
        if state.iteration >= 3:
            clock.now = 11.0

    made = best_of(asked, Effort(1e-9, Watch(10.0, clock), solver, late_after_three))
    numbered = [state for state in shown if state.iteration]
    late = [k for k, state in enumerate(numbered) if state.iteration >= 3]
    assert len(numbered) - late[0] <= 2  # no iteration more, but for the one that sums up
    assert made.stopped and made.gap > 1e-9
    assert_proved(made, shown)


@pytest.mark.parametrize("system", [lanes_dense.DenseSystems, lanes_sparse.SparseSystems])
def test_an_iteration_is_left_where_it_is(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors of many columns take minutes; nothing of the iteration before is lost."""
    asked, sparse = problem(*places(30)), system is lanes_sparse.SparseSystems
    clock, parts, shown, original = Clock(), [], [], system.factor
    iteration = 4  # parts: of eight blocks of four columns, two at a time

    def slower_and_slower(self: Any, thread: int, low: int, high: int, *rest: Any) -> None:
        parts.append((low, high))
        clock.now += 1.0 if len(parts) <= iteration else 3.0
        original(self, thread, low, high, *rest)

    monkeypatch.setattr(lanes_iterate, "_SPARSE", 1.0 if sparse else -1.0)
    monkeypatch.setattr(lanes_iterate, "_SLOWER", 0.0 if sparse else 2.0)
    monkeypatch.setattr(lanes_iterate, "_LOOK", 1.0)  # a look after every two blocks
    monkeypatch.setattr(lanes_iterate, "_WORTH_A_THREAD", 10**9)
    monkeypatch.setattr(system, "factor", slower_and_slower)
    made = best_of(asked, Effort(1e-9, Watch(10.0, clock), "interior", shown.append))
    assert parts == [(0, 2), (2, 4), (4, 6), (6, 8), (0, 2), (2, 4)]
    assert made.iterations == 1 and made.stopped
    assert_proved(made, shown)


def test_an_iteration_that_would_not_be_through_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown, method = Clock(), [], lanes_iterate.LanesIterate
    original = method.iterate

    def slow(self: Any) -> bool:
        clock.now += 4.0
        return original(self)

    monkeypatch.setattr(method, "iterate", slow)
    made = best_of(problem(*places(20)), Effort(1e-9, Watch(10.0, clock), "interior", shown.append))
    assert made.iterations == 2 and clock.now == 8.0
    assert_proved(made, shown)


def test_a_first_iteration_that_takes_too_long_gives_way_to_what_needs_no_solver(monkeypatch: Any) -> None:
    clock, original = Clock(), lanes_dense.DenseSystems.factor

    def slow(self: Any, *arguments: Any) -> None:
        clock.now += 5.0
        original(self, *arguments)

    monkeypatch.setattr(lanes_iterate, "_LOOK", 1.0)
    monkeypatch.setattr(lanes_dense.DenseSystems, "factor", slow)
    made = best_of(problem(*places(30)), Effort(1e-4, Watch(4.0, clock), "interior"))
    assert made.method in SIMPLE and made.stopped
    assert_proved(made, [])


@pytest.mark.parametrize("work", ["factor", "solve", "aim", "reach", "move"])
def test_passes_over_arrays_are_left_where_they_are(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a pass does with a chunk of columns, the next chunk is not begun when the time is up."""
    clock, shown, original, late = Clock(), [], getattr(arrays_pairs.DenseCone, work), []

    def slow(self: Any, *arguments: Any) -> Any:
        late.append(clock.now > 4.0)
        clock.now += 5.0 if any(state.iteration for state in shown) else 0.0  # the first iteration is quick
        return original(self, *arguments)

    monkeypatch.setattr(arrays_backend.Arrays, "chunk", 8 * 30 * 30 * 6)  # six of thirty columns at a time
    monkeypatch.setattr(arrays_pairs.DenseCone, work, slow)
    design = best_of(problem(*places(30)), Effort(1e-9, Watch(4.0, clock), "interior-gpu", shown.append))
    assert clock.now == 5.0 and not any(late)
    assert design.stopped
    assert_proved(design, shown)


def worse_from(number: int, iterate: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """An iteration of the block method that moves away from the optimum on both sides from some number on."""
    done = [0]

    def step(self: Any) -> bool:
        done[0] += 1
        if done[0] < number:
            return iterate(self)
        self.t_new[:], self.adjoint_before[:] = self.z, self.adjoint  # as a step leaves them
        self.z = self.z * 0.5
        self.adjoint = self.adjoint * 0.5
        self.r = 0.5 * self.r + 0.5 / self.m
        return done[0] < number + 4

    return step


def test_blocks_return_the_best_of_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[ColumnProgress] = []
    method = lanes_iterate.LanesIterate
    monkeypatch.setattr(method, "iterate", worse_from(8, method.iterate))
    clock = Clock()

    def late(state: ColumnProgress) -> None:
        shown.append(state)
        clock.now = float(state.iteration >= 11)

    made = best_of(problem(*places(30)), Effort(1e-9, Watch(1.0, clock), "interior", late))
    seen = [state for state in shown if state.iteration]
    assert len(seen) == 11
    assert all(later.value <= sooner.value and later.bound >= sooner.bound for sooner, later in pairwise(seen))
    assert_proved(made, shown)


@pytest.mark.parametrize("objective", ["expected", "worst secret"])
def test_batches_return_the_best_of_both_sides(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[ColumnProgress] = []
    method, done = arrays_iterate.ArraysIterate, [0]
    original = method.aim

    def away(self: Any, target: float, least: float, most: float) -> bool:
        done[0] += 1
        return original(self, -100 * least if done[0] in (8, 9) else target, least, most)

    monkeypatch.setattr(method, "aim", away)
    clock = Clock()

    def stop(state: ColumnProgress) -> None:
        shown.append(state)
        if state.iteration == 9:
            clock.now = 2.0

    asked = problem(*places(12), objective=optimal.as_objective(objective))
    made = best_of(asked, Effort(1e-9, Watch(1.0, clock), "interior-gpu", stop))
    assert_proved(made, shown)


def test_columns_that_are_cut_short_return_what_they_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block method leaves a gap of 1e-5; the first rounds of pricing are far worse on both sides."""
    asked, clock, shown = problem(*small_grid()), Clock(), []
    original = generation._Pool.missing

    def slow(self: Any, *arguments: Any) -> Any:
        clock.now += 1.0
        self.watch.check()
        return original(self, *arguments)

    monkeypatch.setattr(generation._Pool, "missing", slow)
    for limit in (0.5, 12.5, 25.5):
        clock.now = 0.0
        shown.clear()
        made = best_of(asked, Effort(1e-4, Watch(limit, clock), "column-generation", shown.append))
        assert clock.now <= limit + 1
        assert made.gap <= 1e-4
        assert_proved(made, shown)


def test_peaks_show_nothing_that_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound for some outputs is none for all, and a cost before all pairs are kept is none that anybody pays."""
    monkeypatch.setattr(interior_near, "_ALL_ACTIONS", 8)
    asked, shown = problem(*places(40, epsilon=3.0)), []
    made = best_of(asked, Effort(1e-2, None, "interior-near", shown.append))
    among = [state for state in shown if "outputs" in state.stage]
    assert among and all(state.value == np.inf and state.bound == -np.inf for state in among[:3])
    assert any(np.isfinite(state.gap) for state in shown)
    assert_proved(made, shown)


def test_a_round_after_the_first_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds with a tighter aim begin anew; when the time is up there, the round before counts."""
    asked, clock, shown = problem(*places(20)), Clock(), []
    record, rounds = SOLVERS["interior"], []

    def second_is_cut_short(asked: Problem, target: float, *rest: Any, **warm: Any) -> Any:
        rounds.append(target)
        if len(rounds) == 1:
            return record.solve(asked, 1e-3, *rest, **warm)
        clock.now = 2.0
        raise TimeIsUp

    monkeypatch.setitem(SOLVERS, "interior", replace(record, solve=second_is_cut_short))
    made = best_of(asked, Effort(1e-6, Watch(1.0, clock), "interior", shown.append))
    assert len(rounds) == 2 and made.stopped
    assert made.gap <= 3e-3
    assert_proved(made, shown)


def test_two_answers_are_joined_side_by_side() -> None:
    asked = problem(*places(15))
    rough, fine = (SOLVERS["interior"](asked, gap) for gap in (0.3, 1e-6))
    simple = simple_answer(asked)
    assert simple is not None
    value, bound = value_of(asked, floats(fine.matrix)), multipliers_bound(asked, fine.multipliers)
    for one, other in ((rough, fine), (fine, simple), (simple, fine)):
        both = joined(asked, one, other)
        assert value_of(asked, floats(both.matrix)) == pytest.approx(value)
        assert multipliers_bound(asked, both.multipliers) == pytest.approx(bound)


def test_without_a_solver_limits_are_kept_or_refused() -> None:
    prior, loss, privacy = small_grid()
    easy = sf.objectives.expected(limits=sf.objectives.loss_at_most(4))
    made = sf.design(prior, loss, privacy, objective=easy, time_limit=0)
    assert made.method in SIMPLE
    assert_proved(made, [])
    hard = sf.objectives.expected(limits=sf.objectives.loss_at_most("1.4"))
    with pytest.raises(NotConverged, match=r"keeps the limits was found (within|in time)"):
        sf.design(prior, loss, privacy, objective=hard, time_limit=0)
    worst = sf.design(prior, loss, privacy, objective="worst secret", time_limit=0)
    assert_proved(worst, [])


def test_events_are_kept_without_a_solver() -> None:
    prior, loss, privacy = small_grid()
    weaker = sf.predicates.epsilon_delta(alpha="1/2", delta="1/10")
    made = sf.design(prior, loss, None, under=(weaker, privacy.space), time_limit=0)
    assert made.method == "one output for all"
    assert_proved(made, [])


def test_proofs_are_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where repair and proof of a table would take too long, solvers leave time for it, or one output has to do."""
    asked, clock, given = problem(*places(20)), Clock(), []
    monkeypatch.setattr(time_budget, "_PROOF_SECONDS", (0.0, 0.005, 0.0, 0.0))  # 19 s for 190 pairs and 20 outputs
    monkeypatch.setattr(time_budget, "cores", lambda: 2)
    record = SOLVERS["interior"]

    def watched(asked: Problem, target: float, progress: Any, watch: Watch, trail: Any) -> Any:
        given.append(watch.left)
        return record.solve(asked, target, progress, watch, trail)

    monkeypatch.setitem(SOLVERS, "interior", replace(record, solve=watched))
    pairs = len(asked.privacy.space.pairs.first)
    assert pairs == 190
    for limit in (100.0, 25.0, 13.0):
        assert best_of(asked, Effort(1e-2, Watch(limit, clock), "interior")).gap <= 1e-2
    assert given == pytest.approx([81.0, 12.5, 1.6])  # at 13 s: 1.2 times that and 5 s, less the 19 s of the proof
    for limit in (11.0, 0.0):
        assert best_of(asked, Effort(1e-2, Watch(limit, clock), "interior")).method == "one output for all"
    assert given[3:] == [0.0, 0.0]


def test_where_all_outputs_take_too_long_to_prove_there_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is told as few places is far better than one place for all."""
    asked = problem(*places(60, epsilon=3.0))
    monkeypatch.setattr(time_budget, "_PROOF_SECONDS", (0.0, 1e-3, 0.0, 0.0))  # 1.8 s for 1,770 pairs and an output
    monkeypatch.setattr(time_budget, "cores", lambda: 2)
    made = best_of(asked, Effort(1e-2, Watch(40.0, Clock()), "interior"))
    assert made.method.endswith(", 14 outputs") and len(made.mechanism.outputs) <= 14
    assert made.loss < 0.7 * best_of(asked, Effort(1e-2, Watch(5.0, Clock()), "interior")).loss
    assert_proved(made, [])


@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_many_places_in_no_time_get_as_many_outputs_as_take_little_longer_to_prove_than_one(limit: float) -> None:
    """Pairs are looked at for one output too, which takes most of the time, and tells nothing."""
    line = sf.points([[k, k**2] for k in range(1_000)])
    asked = problem(sf.Prior.uniform(line), sf.losses.distance(line), sf.PrivacyType(line, epsilon=3))
    few = time_budget.provable_outputs(asked, Watch(limit, Clock()))
    assert few is None or few >= 40


def test_symmetries_are_not_looked_for_longer_than_a_part_of_the_time() -> None:
    space = sf.cycle(12)
    asked = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1))
    whole = symmetry(asked)
    assert whole is not None and len(whole) == 24
    ticks = iter(range(10**6))
    assert symmetry(asked, Watch(30.0, lambda: float(next(ticks)))) is None
    assert symmetry(asked, Watch(300.0, lambda: float(next(ticks)))) is not None


def test_the_first_word_comes_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def built(*arguments: Any) -> Problem:
        told.append("built")
        return problem(*arguments)

    def compiling(asked: Problem, *rest: Any) -> Any:
        told.append("solved")
        _compiling.on_start(None)
        _compiling.on_end(None)
        return SOLVERS["exact"](asked, *rest)

    monkeypatch.setattr(optimal, "problem", built)
    monkeypatch.setitem(SOLVERS, "highs", replace(SOLVERS["highs"], solve=compiling))
    sf.design(*small_grid(), solver="highs", progress=lambda state: told.append(state.stage))
    assert told == ["laying out the problem", "built", "solving by highs", "solved", COMPILING, PROVING]


def test_who_answers_a_stage_with_an_interrupt_gets_what_there_is() -> None:
    for number in range(1, 4):
        told: list[str] = []

        def stop(state: ColumnProgress, told: list[str] = told, number: int = number) -> None:
            told.append(state.stage)
            if len(told) == number:
                raise KeyboardInterrupt

        made = sf.design(*places(20), progress=stop)
        assert made.method in SIMPLE and made.stopped
        assert_proved(made, [])


def test_what_floats_complain_of_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(asked: Problem, *rest: Any) -> Any:
        warnings.warn("divide by zero encountered in matmul", RuntimeWarning, stacklevel=1)
        np.log(np.zeros(3))
        return SOLVERS["exact"](asked, *rest)

    monkeypatch.setitem(SOLVERS, "highs", replace(SOLVERS["highs"], solve=noisy))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sf.design(*small_grid(), solver="highs")
    assert not heard


def test_a_calibration_that_runs_out_of_time_says_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    space = sf.line(5)
    prior, loss, clock = sf.Prior.uniform(space), sf.losses.absolute(space), Clock()
    original = optimal.best_of

    def slow(asked: Problem, effort: Effort) -> Design:
        clock.now += 1.0
        return original(asked, effort)

    monkeypatch.setattr(families_places, "best_of", slow)
    found = sf.calibrate(prior, loss, space, target="1/2", precision=1e-6, time_limit=Watch(6.5, clock))
    assert clock.now <= 7.0
    assert found.low < found.high and found.high - found.low > 1e-6 * found.high
    assert found.design.loss <= 0.5
    clock.now = 0.0
    with pytest.raises(NotConverged, match=r"no epsilon was found within 1 s: give it more time"):
        sf.calibrate(prior, loss, space, target="0.0001", time_limit=Watch(1.0, clock))


def test_a_curve_shares_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    space = sf.line(5)
    prior, loss, clock, given = sf.Prior.uniform(space), sf.losses.absolute(space), Clock(), []
    original = optimal.best_of

    def slow(asked: Problem, effort: Effort) -> Design:
        assert isinstance(effort.time_limit, Watch)
        given.append(effort.time_limit.left)
        clock.now += 4.0
        return original(asked, effort)

    monkeypatch.setattr(families_places, "best_of", slow)
    found = sf.curve(prior, loss, space, [1, 2, 3, 4], time_limit=Watch(12.0, clock))
    assert given == pytest.approx([3.0, 8 / 3, 2.0])
    assert [float(e) for e in found.epsilons] == [1.0, 2.0, 3.0]  # nothing was left for the fourth
    monkeypatch.undo()
    with ThreadPoolExecutor(1) as executor:
        assert len(sf.curve(prior, loss, space, [1, 2], time_limit=60, executor=executor).designs) == 2
