"""Isometries: the permutations of a space that keep all distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotSupported
from sfumato.spaces.finite import FiniteSpace, as_space

_MOST = 50_000  # More permutations are not listed; a discrete space of eight points has 40,320.


def isometries(space: FiniteSpace) -> NDArray[np.int64]:
    """The isometry group, one permutation a row: row[x] is the image of point x. Distances compare exactly.

    Examples
    --------
    >>> from sfumato.spaces.constructors import grid, hamming, line
    >>> isometries(line(3)).tolist()
    [[0, 1, 2], [2, 1, 0]]
    >>> len(isometries(grid(3, 3))), len(isometries(hamming(3)))
    (8, 48)
    """
    space = as_space(space)
    table = space.distances.values
    n = len(space)
    # an image has the same distances to all points, in some order
    profiles = [tuple(row) for row in np.sort(table, axis=1).tolist()]
    permutations: list[list[int]] = []
    partial: list[list[int]] = [[]]
    while partial:
        images = partial.pop()
        x = len(images)
        if x == n:
            permutations.append(images)
            if len(permutations) > _MOST:
                raise NotSupported(f"listing the isometries of {space.name}", [f"at most {_MOST}"])
            continue
        for y in range(n):
            if y not in images and profiles[y] == profiles[x] and (table[y, images] == table[x, :x]).all():
                partial.append([*images, y])
    return np.array(sorted(permutations), dtype=np.int64)
