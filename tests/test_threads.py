from __future__ import annotations

import pytest

from sfumato.threads import on_threads, plain_interrupts


def test_chunks_cover_the_range_once() -> None:
    for size in (1, 7, 1000):
        parts = on_threads(lambda first, last: list(range(first, last)), size)
        assert [i for part in parts for i in part] == list(range(size))


def test_an_interrupt_behind_a_system_error_comes_through() -> None:
    inner = SystemError("a result with an exception set")
    inner.__cause__ = KeyboardInterrupt()
    outer = SystemError("again")
    outer.__cause__ = inner
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise outer
    with pytest.raises(SystemError, match="other"), plain_interrupts():
        raise SystemError("other")
