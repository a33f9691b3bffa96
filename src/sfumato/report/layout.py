"""Where to draw secrets that have no coordinates: words of a cube, nodes of a graph, any space.

A drawing in the plane cannot keep all distances. Words are placed by a fixed projection of their cube, which shows its
edges as parallels; anything else by classical scaling: the two directions in which the squared distances, centred,
spread most (Torgerson 1952).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.spaces.finite import FiniteSpace

_MOST_SCALED = 1500  # Taking apart the distances of so many points takes about a second.
_SAME = 1e-6  # Points closer than this share of the picture are moved apart.


def drawn_places(space: FiniteSpace) -> NDArray[np.float64]:
    """A point of the plane for each secret: its coordinates where it has two, else a drawing of the space.

    Examples
    --------
    >>> from sfumato.spaces import cycle, hamming, line
    >>> [drawn_places(space).shape for space in (line(3), cycle(5), hamming(3))]
    [(3, 2), (5, 2), (8, 2)]
    """
    given = space.coordinates
    if given is not None and np.isfinite(given).all() and given.shape[1] <= 2:
        flat = np.zeros((len(space), 2))
        flat[:, : given.shape[1]] = given
        return flat
    words = _words(space)
    if words is not None:
        return _projected(words)
    if given is not None and np.isfinite(given).all():
        return _projected(given)
    if len(space) > _MOST_SCALED:
        return _on_a_circle(len(space))
    return _apart(_scaled(space.distances.floats))


def _words(space: FiniteSpace) -> NDArray[np.float64] | None:
    """The letters of words of one length, as numbers."""
    if not space.name.startswith("hamming") or not all(isinstance(label, str) for label in space.labels):
        return None
    if len({len(label) for label in space.labels}) != 1:
        return None
    return np.array([[ord(letter) for letter in label] for label in space.labels], dtype=np.float64)


def _projected(where: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each axis gets a direction of its own; later ones are shorter, so that few points meet."""
    axes = where.shape[1]
    turns = np.pi * (np.arange(axes) / max(axes, 2) + 0.08)
    lengths = 0.86 ** np.arange(axes)
    return _apart((where - where.mean(axis=0)) @ (np.stack([np.cos(turns), np.sin(turns)], axis=1) * lengths[:, None]))


def _scaled(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    finite = np.isfinite(distances)
    table = np.where(finite, distances, 2 * distances[finite].max(initial=1.0)) ** 2
    table -= table.mean(axis=0)
    table -= table.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-table / 2)
    largest = np.maximum(values[-2:], 0) if len(values) > 1 else np.zeros(2)
    flat = np.zeros((len(distances), 2))
    flat[:, : len(values[-2:])] = (vectors[:, -2:] * np.sqrt(largest))[:, ::-1]
    for axis in range(2):  # the sign of a direction is nobody's choice: make it the first large entry's
        k = int(np.argmax(np.abs(flat[:, axis]) > 0.5 * np.abs(flat[:, axis]).max(initial=0)))
        if flat[k, axis] < 0:
            flat[:, axis] *= -1
    return flat


def _apart(where: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same drawing, on a circle where points lie on each other."""
    size = float(np.ptp(where, axis=0).max(initial=0.0))
    gaps = np.linalg.norm(where[:, None] - where[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return where if len(where) < 2 or gaps.min() > _SAME * size else _on_a_circle(len(where))


def _on_a_circle(n: int) -> NDArray[np.float64]:
    turns = 2 * np.pi * np.arange(n) / n
    return np.stack([np.sin(turns), np.cos(turns)], axis=1)
