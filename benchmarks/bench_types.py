"""Vertices, kernels and capacities of privacy types, beside trying every set of rays with NumPy.

The peer tries all sets of at most n rays, solving the square systems in batches; it needs no idea and shows
what double description saves. It decides zero by a tolerance, which exact counts do not.
"""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np

import sfumato as sf
from timing import Table, measure

REPEATS = 5


def main() -> None:
    """Measure and report."""
    vertices_table()
    kernels_table()


def vertices_table() -> None:
    """Seconds to list all vertices."""
    table = Table("vertices", "Vertices of privacy types", ("space", "vertices", "first call, s", "median, s"))
    for space in (sf.line(8), sf.discrete(7), sf.hamming(3), sf.hamming(4), sf.grid(2, 3), sf.grid(3, 3)):
        privacy = sf.PrivacyType(space, alpha="1/2")
        timing = measure(lambda privacy=privacy: sf.vertices(privacy), REPEATS)
        table.add(space.name, len(sf.vertices(privacy)), timing.first, timing.median)
    table.finish()


def kernels_table() -> None:
    """Seconds to list all kernels, beside trying every set where that ends soon."""
    columns = ("space", "kernels", "sfumato first, s", "sfumato, s", "every set, s", "every set finds", "ratio")
    table = Table("kernels", "Kernels at e^ε = 2", columns)
    for space, tried in (
        (sf.line(5), True),
        (sf.line(6), True),
        (sf.discrete(4), True),
        (sf.discrete(5), True),
        (sf.hamming(3), False),
        (sf.discrete(6), False),
        (sf.line(7), False),
    ):
        privacy = sf.PrivacyType(space, alpha="1/2")
        timing = measure(lambda privacy=privacy: sf.kernels(privacy), 0 if len(space) == 7 else REPEATS)
        count = sf.count_kernels(privacy)
        if tried:
            rays = np.stack([vertex.ray.astype(float) for vertex in sf.vertices(privacy)], axis=1)
            other = measure(lambda rays=rays: every_set(rays), 1)
            table.add(space.name, count, timing.first, timing.median, other.median, every_set(rays),
                      other.median / timing.median)  # fmt: skip
        else:
            table.add(space.name, count, timing.first, timing.median, "not run", "—", "—")
    table.finish()


def every_set(rays: np.ndarray) -> int:
    """How many sets of independent rays have a positive combination that is 1, up to 1e-9."""
    n, count = rays.shape
    found = 0
    for size in range(1, n + 1):
        sets = combinations(range(count), size)
        while batch := list(islice(sets, 50_000)):
            systems = rays[:, np.array(batch)].transpose(1, 0, 2)
            inverses = np.linalg.pinv(systems)
            weights = inverses.sum(axis=2)
            solved = np.abs((systems @ weights[:, :, None])[:, :, 0] - 1).max(axis=1) < 1e-9
            independent = np.linalg.matrix_rank(systems) == size
            found += int((solved & independent & (weights.min(axis=1) > 1e-9)).sum())
    return found


if __name__ == "__main__":
    main()
