from __future__ import annotations

from threading import Event

import numpy as np
import pytest

from sfumato.threads import at_once, for_reading, on_threads, one_thread, plain_interrupts, thread_counts


def test_chunks_cover_the_range_once() -> None:
    for size in (1, 7, 1000):
        parts = on_threads(lambda first, last: list(range(first, last)), size)
        assert [i for part in parts for i in part] == list(range(size))


def test_what_is_done_at_once_comes_in_order_and_ends_when_somebody_has_had_enough() -> None:
    over = Event()
    waited: list[int] = []

    def work(item: int) -> int:
        waited.append(item)
        return item if item < 2 else item * over.wait(60)

    found = at_once(work, range(1000))
    assert [next(found), next(found)] == [0, 1]
    over.set()
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt())
    assert len(waited) <= 1000
    with pytest.raises(ZeroDivisionError):
        [*at_once(lambda item: 1 // item, [1, 0, 1])]


def test_an_interrupt_behind_a_system_error_comes_through() -> None:
    inner = SystemError("a result with an exception set")
    inner.__cause__ = KeyboardInterrupt()
    outer = SystemError("again")
    outer.__cause__ = inner
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise outer
    with pytest.raises(SystemError, match="other"), plain_interrupts():
        raise SystemError("other")


def test_linear_algebra_has_its_threads_back_when_the_last_one_leaves() -> None:
    def counts() -> list[int]:
        return [count() for count, _ in thread_counts()]

    before = counts()
    with one_thread():
        with pytest.raises(ValueError, match="other"), one_thread():
            raise ValueError("other")
        assert before and {*counts()} == {1}
    assert counts() == before


def test_what_is_read_comes_in_as_one_kind_of_array() -> None:
    """Code is compiled once, whatever the order, the width and the rights of an array; a fitting one is not copied."""
    table = np.arange(6, dtype=np.int64).reshape(2, 3)
    for given in (table, table.astype(np.uint8), np.asfortranarray(table), table.repeat(2, axis=1)[:, ::2]):
        read = for_reading(given, np.int64)
        assert read.flags.c_contiguous and not read.flags.writeable and (read == table).all()
    assert np.shares_memory(for_reading(table), table) and table.flags.writeable
