"""Chunks of a range on one thread for each core; compiled code lets go of the interpreter lock meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any

import numpy as np

__all__ = ["on_threads"]


def on_threads(work: Callable[[int, int], Any], size: int, chunks_per_thread: int = 4) -> list[Any]:
    """Run ``work(first, last)`` over [0, size) in chunks, one thread for each core."""
    threads = max(1, cpu_count() or 1)
    edges = np.linspace(0, size, min(size, threads * chunks_per_thread) + 1).astype(int)
    if len(edges) <= 2:
        return [work(0, size)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, edges[:-1].tolist(), edges[1:].tolist()))
