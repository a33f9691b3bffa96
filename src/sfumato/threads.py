"""Compiled code and the rest of the process: chunks of a range on all cores, linear algebra on one, and Ctrl-C."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.linalg import _umath_linalg
from numpy.typing import NDArray
from scipy.linalg import _fblas

Item = TypeVar("Item")
Result = TypeVar("Result")

_SMALL_SCAN = 200_000  # So few comparisons take less time than starting threads.


def cores() -> int:
    """How many cores this process may use: where it is held to some, threads for the others would be in their way."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_threads(work: Callable[[int, int], Any], size: int, chunks_per_thread: int = 4) -> list[Any]:
    """Run ``work(first, last)`` over [0, size) in chunks, one thread for each core.

    Compiled code lets go of the interpreter lock meanwhile.
    """
    threads = cores()
    edges = np.linspace(0, size, min(size, threads * chunks_per_thread) + 1).astype(int)
    if len(edges) <= 2:
        return [work(0, size)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, edges[:-1].tolist(), edges[1:].tolist()))


def at_once(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What ``work`` gives for items that do not depend on each other, in their order, as soon as it is there.

    One thread for each core. Whoever has had enough waits for what has begun.
    """
    threads = min(cores(), len(items))
    if threads < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def for_reading(array: NDArray[Any], kind: Any = None) -> NDArray[Any]:
    """A read-only view of an array, in the order of C and of one kind: code is compiled for one kind of array, once.

    A copy is made only where the order or the kind differs.
    """
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view


def over_pairs(
    scan: Callable[..., None],
    table: NDArray[np.float64],
    first: NDArray[Any],
    second: NDArray[Any],
    *more: float,
    width: int | None = None,
) -> NDArray[np.float64]:
    """What a compiled scan writes for each of many pairs of rows of a table: a number, or ``width`` of them."""
    result = np.empty(first.size if width is None else (first.size, width))
    table, first, second = for_reading(table, np.float64), for_reading(first, np.int64), for_reading(second, np.int64)

    def part(start: int, stop: int) -> None:
        scan(table, first[start:stop], second[start:stop], *more, result[start:stop])

    if first.size * table.shape[1] < _SMALL_SCAN:
        part(0, first.size)
    else:
        on_threads(part, first.size)
    return result


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread, in the whole process, as long as anybody is in here.

    Threads of OpenBLAS wait for each other by turning in circles: for matrices of a few hundred rows they gain little,
    and where other processes have the cores each product waits for its turn many times. Other libraries stay as they
    are.
    """
    with _counting:
        if not _inside:
            _before.extend(found() for found, _ in thread_counts())
            for _, put in thread_counts():
                put(1)
        _inside.append(None)
    try:
        yield
    finally:
        with _counting:
            _inside.pop()
            if not _inside:
                for (_, put), count in zip(thread_counts(), _before, strict=True):
                    put(count)
                _before.clear()


_counting = Lock()
_inside: list[None] = []  # one for each call of one_thread that has not ended
_before: list[int] = []  # threads of each library when the first of these began


@cache
def thread_counts() -> list[tuple[Callable[[], int], Callable[[int], object]]]:
    """What asks and sets the number of threads of OpenBLAS, as NumPy and SciPy bring it."""
    found = []
    for module, ending in ((_umath_linalg, "64_"), (_fblas, "")):
        library = ctypes.CDLL(module.__file__)
        for name in ("scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
            ask, put = (getattr(library, name.format(verb) + ending, None) for verb in ("get", "set"))
            if ask is not None and put is not None:
                found.append((ask, put))
                break
    return found


class StopAtOnce(BaseException):
    """Somebody wants an end and nothing else.

    A search takes a KeyboardInterrupt as a wish for what it has so far, and goes on to prove it. This one it lets pass.
    """


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C during a compiled call is a KeyboardInterrupt, or what a handler makes of it.

    It is noticed when the call returns, and Python then complains of "a result with an exception set" instead.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt | StopAtOnce):
                raise type(cause) from None
            cause = cause.__cause__ or cause.__context__
        raise
