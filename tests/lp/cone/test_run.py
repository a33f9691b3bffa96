"""How runs end: reached, stalled, out of time, interrupted."""

from __future__ import annotations

import pytest

from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.lp.cone.run import Run, guarded
from sfumato.watch import TimeIsUp, Watch


def falling(run: Run, rate: float, tolerance: float = 0.0) -> Ending:
    """A run whose gap is multiplied by a rate in every iteration."""
    return run.until(lambda: True, lambda: (gap := rate**run.iterations, Ending.REACHED if gap <= tolerance else None))


def test_it_goes_on_until_the_method_says_so() -> None:
    run = Run(Watch(), 100, 5)
    assert falling(run, 0.5, 1e-3) is Ending.REACHED
    assert run.iterations == 10


def test_it_stalls_where_gaps_do_not_fall_by_a_tenth_while_patience_lasts() -> None:
    assert falling(stays := Run(Watch(), 100, 5), 1.0) is Ending.STALLED
    assert stays.iterations == 6
    assert falling(creeps := Run(Watch(), 100, 5), 0.99) is Ending.STALLED
    assert creeps.iterations < 100
    assert falling(falls := Run(Watch(), 40, 5), 0.9) is Ending.STALLED
    assert falls.iterations == 40


def test_it_ends_where_there_is_no_step_and_counts_over_several_runs() -> None:
    run, left = Run(Watch(), 100, 5), iter([True, True, False, True, False])
    for number in (2, 3):
        assert run.until(lambda: next(left), lambda: (0.5**run.iterations, None)) is Ending.STALLED
        assert run.iterations == number


def test_an_iteration_that_would_not_be_through_in_time_is_not_begun() -> None:
    now = [0.0]

    def slow() -> bool:
        now[0] += 3.0
        return True

    run = Run(Watch(10.0, lambda: now[0]), 100, 5)
    assert run.until(slow, lambda: (0.5**run.iterations, None)) is Ending.TIME
    assert run.iterations == 3 and now == [9.0]


def test_progress_is_told_where_the_run_stands() -> None:
    shown: list[ColumnProgress] = []
    run = Run(Watch(), 3, 5, shown.append)

    def judged() -> tuple[float, None]:
        run.stands(2.0, 1.0, 0.5)
        return 0.5**run.iterations, None

    assert run.until(lambda: True, judged) is Ending.STALLED
    assert [(state.iteration, state.value, state.bound, state.gap) for state in shown] == [
        (1, 2.0, 1.0, 0.5), (2, 2.0, 1.0, 0.5), (3, 2.0, 1.0, 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(("raised", "ended"), [(TimeIsUp, Ending.TIME), (KeyboardInterrupt, Ending.INTERRUPTED)])
def test_what_stops_a_step_midway_is_an_end(raised: type[BaseException], ended: Ending) -> None:
    def work() -> Ending:
        raise raised

    assert guarded(work) is ended
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
