"""Work in processes of its own: what comes back, in which order, and that nothing is left running."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from sfumato import processes
from sfumato.processes import Children, SideBySide


def where(task: int) -> tuple[int, int]:
    return task, os.getpid()


def test_processes_answer_in_order_and_are_kept_for_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(processes, "FEWEST", 3)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    apart = SideBySide()
    assert [*apart.each(math.isqrt, [4, 5], lambda item: item * item)] == [4, 5] and apart.children is None
    found = [*apart.each(math.isqrt, range(30), lambda item: item * item)]
    assert found == list(range(30)) and apart.children is not None
    first = {child.process.pid for child in apart.children.children}
    assert {pid for _, pid in apart.each(where, range(30), lambda item: item)} <= first and len(first) == 2
    running = [child.process for child in apart.children.children]
    del apart
    assert all(process.poll() is not None for process in running)


def test_an_error_there_is_one_here_and_ends_them() -> None:
    children = Children(2)
    running = [child.process for child in children.children]
    with pytest.raises(ValueError, match="negative"):
        [*children.each(math.isqrt, [1, -1, 4], lambda item: item)]
    assert all(process.poll() is not None for process in running)


def test_what_a_killed_process_owes_is_done_here() -> None:
    children = Children(2)
    children.children[0].process.kill()
    children.children[0].process.wait()
    assert [*children.each(math.isqrt, [1, 4, 9, 16], lambda item: item)] == [1, 2, 3, 4]
    children.close()


def test_who_leaves_early_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(processes, "FEWEST", 2)
    apart = SideBySide()
    found = apart.each(math.isqrt, range(1, 9), lambda item: item)
    assert next(found) == 1 and apart.children is not None
    running = [child.process for child in apart.children.children]
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt())
    assert all(process.poll() is not None for process in running) and apart.children is None
    assert [*apart.each(math.isqrt, [9, 16], lambda item: item)] == [3, 4]
    apart.children.close()


def test_where_no_process_can_be_started_threads_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(processes, "FEWEST", 2)
    monkeypatch.setattr(processes.sys, "executable", str(Path("no such program")))
    apart = SideBySide()
    assert [*apart.each(math.isqrt, [9, 16], lambda item: item)] == [3, 4] and apart.children is None
