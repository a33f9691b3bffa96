"""Time that is kept: what is left of it, who asks, and that compiling is announced and not counted."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

from sfumato import watch as module
from sfumato.errors import InvalidInput
from sfumato.watch import TimeIsUp, Watch, announcing, watch_of, working_time


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_and_when_it_is_over() -> None:
    clock = Clock()
    watch = Watch(10, clock)
    assert (watch.spent, watch.left, watch.over) == (0.0, 10.0, False)
    assert watch.allows(9.9) and not watch.allows(10.0)
    clock.now += 10.0
    assert (watch.left, watch.over) == (0.0, True)
    with pytest.raises(TimeIsUp):
        watch.check()
    endless = Watch(None, clock)
    clock.now += 1e9
    assert endless.left is None and not endless.over and endless.allows(1e9)
    endless.check()
    assert Watch(float("inf")).limit is None and Watch(10**400).limit is None
    assert Watch(np.int64(3)).limit == 3.0 and Watch(Fraction(1, 2)).limit == 0.5


def test_stages_have_their_parts_of_it() -> None:
    clock = Clock()
    watch = Watch(100, clock)
    clock.now += 20.0
    search, solving = watch.share(0.25), watch.before(30.0)
    assert (search.limit, solving.limit) == (20.0, 50.0)
    clock.now += 20.0
    assert search.over and not solving.over and not watch.over
    watch.stop()
    assert watch.over and solving.over  # who stops the whole stops its parts
    assert watch.before(1.0).left == 0.0
    whole = Watch(None, clock)
    whole.share(0.5).before(1.0).stop()
    assert whole.over and whole.share(0.1).before(1.0).over  # and who asks in the midst of a part means the whole
    assert Watch(None, clock).share(0.1).limit is None and Watch(None, clock).before(5.0).limit is None


def test_a_call_uses_the_watch_of_its_caller() -> None:
    watch = Watch(5)
    assert watch_of(watch) is watch
    assert watch_of(5).limit == 5.0 and watch_of(None).limit is None
    assert pickle.loads(pickle.dumps(watch)).limit == 5.0


@pytest.mark.parametrize("limit", [-1, float("nan"), "soon", True, [3]])
def test_what_is_no_time_limit(limit: Any) -> None:
    with pytest.raises(InvalidInput, match="the time limit is a number of seconds"):
        Watch(limit)


def test_the_clock_stands_still_while_functions_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, compiling = Clock(), module._Compiling()
    monkeypatch.setattr(module, "perf_counter", clock)
    monkeypatch.setattr(module, "_compiling", compiling)
    watch = Watch(10)
    clock.now += 3.0
    compiling.on_start(None)
    clock.now += 50.0
    compiling.on_start(None)  # one function needs another
    clock.now += 50.0
    assert watch.spent == 3.0
    compiling.on_end(None)
    compiling.on_end(None)
    assert module.compiling_time() == 100.0
    clock.now += 1.0
    assert watch.spent == 4.0 and not watch.over


def test_compiling_is_announced_and_whoever_objects_is_not_heard_then() -> None:
    @numba.njit
    def inner(x: int) -> int:
        return x + 1

    @numba.njit
    def outer(x: int) -> int:
        return inner(x) * 2

    told: list[str] = []

    def stop() -> None:
        raise KeyboardInterrupt

    before = working_time()
    with announcing(lambda: told.append("compiling")), announcing(stop):
        assert outer(3) == 8
        assert outer(4) == 10
    assert told == ["compiling"]  # once, although there are two functions, and never again
    assert working_time() >= before
