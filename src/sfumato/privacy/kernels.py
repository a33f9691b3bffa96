"""Kernel mechanisms: the finitely many from which a whole privacy type is made.

A mechanism whose posteriors are vertices is a sum Σ a_i v_i = 1 of rays with a ≥ 0. Kernels are those with
linearly independent posteriors, that is, the vertices of {a ≥ 0 : Σ a_i v_i = 1}, each known by its
support (Fernandes et al. 2023, Definition 5 and Theorem 3).

Their number depends on ε, and e^ε = 2 is itself degenerate, so zero is never decided by a tolerance:
:mod:`sfumato.privacy.supports` finds the supports, :mod:`sfumato.privacy.rays` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint
import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import NotSupported, expect
from sfumato.numbers import Floats, fractions, from_flint, is_exact, to_flint
from sfumato.privacy.rays import rays_of
from sfumato.privacy.supports import MOST_SECRETS, Report, members_of, supports_in_pieces
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.privacy.vertices import Vertices, vertices
from sfumato.spaces.isometries import isometries

_BITS = 512  # of enclosures of rays, before a system of them is solved
_ROUNDED = 2.0**-50  # of a logarithm of a ratio: two entries, each a product of doubles, are off by three units at most


@dataclass(frozen=True, eq=False)
class Kernel:
    """One kernel mechanism: which vertices it uses and with which weights."""

    vertices: Vertices
    support: tuple[int, ...]

    @cached_property
    def weights(self) -> tuple[Fraction, ...] | tuple[float, ...]:
        """a > 0 with Σ a_i v_i = 1, for rays v_i scaled to maximum 1; exact for exact types."""
        if self._in_floats is not None:
            return tuple(self._in_floats[1])
        rays = self.vertices.rays[list(self.support)]
        one = fractions(np.ones(rays.shape[1], dtype=np.int64))
        reduced, _ = to_flint(np.vstack([rays, one]).T).rref()
        return tuple(from_flint(reduced)[: len(rays), -1])

    @cached_property
    def channel(self) -> Channel:
        """The mechanism, one output for each vertex it uses."""
        rays = self.vertices.rays[list(self.support)] if self._in_floats is None else self._in_floats[0]
        return Channel(self.vertices.privacy.space, rays.T * np.array(self.weights), self.support)

    @cached_property
    def _in_floats(self) -> tuple[Floats, list[float]] | None:
        """Rays and weights as doubles where the type is not exact.

        They are those of a rate that is less by what rounding adds to a ratio of two entries, so that the channel keeps
        the promise, although a kernel lies on its border.
        """
        if is_exact(self.vertices.rays):
            return None
        privacy = self.vertices.privacy
        apart = privacy.rate * float(privacy.space.pair_distances.floats.min(initial=np.inf))
        part = 1 - Fraction(min(_ROUNDED / apart, 0.5))
        columns = rays_of(self.vertices).balls(self.support, _BITS, part)
        with flint.ctx.workprec(_BITS):
            table = flint.arb_mat(columns)
            ones = flint.arb_mat([[1]] * table.ncols())
            found = (table * table.transpose()).solve(table * ones)  # least squares: independent rays may be few
            weights = [float(found[i, 0].mid()) for i in range(table.nrows())]
        return np.array([[float(v.mid()) for v in column] for column in columns]), weights


@dataclass(frozen=True, eq=False, repr=False)
class Kernels:
    """All kernels of a privacy type, as supports; a :class:`Kernel` is made when it is asked for."""

    vertices: Vertices
    supports: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.supports.shape[1])

    def __repr__(self) -> str:
        return f"Kernels({len(self)} of {self.vertices.privacy!r})"

    def __getitem__(self, index: int) -> Kernel:
        return Kernel(self.vertices, tuple(members_of(self.supports[:, index])))

    def __iter__(self) -> Iterator[Kernel]:
        return (self[i] for i in range(len(self)))

    def sizes(self) -> dict[int, int]:
        """How many kernels have how many outputs."""
        counts = np.bitwise_count(self.supports).sum(axis=0)
        return {int(size): int(number) for size, number in zip(*np.unique(counts, return_counts=True), strict=True)}


@dataclass(frozen=True, eq=False, repr=False)
class Orbits:
    """Kernels that an isometry of the space turns into each other, counted once.

    ``representatives`` are indices into the kernels, ``sizes`` how many each stands for.
    """

    kernels: Kernels
    representatives: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.representatives)

    def __repr__(self) -> str:
        return f"Orbits({len(self)} of {len(self.kernels)} kernels)"


def orbits(all_kernels: Kernels) -> Orbits:
    """Group kernels by the isometries of their space.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> orbits(kernels(PrivacyType(line(4), alpha="1/2")))
    Orbits(7 of 11 kernels)
    """
    all_kernels = expect(all_kernels, Kernels, "kernels", "kernels(privacy)")
    count = len(all_kernels.vertices)
    words = all_kernels.supports.astype("<u8").T.copy()
    members = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :count]
    smallest = None
    for permutation in _on_vertices(all_kernels.vertices):
        packed = np.packbits(members[:, np.argsort(permutation)], axis=1)
        rows = np.ascontiguousarray(packed).view(f"S{packed.shape[1]}").ravel()  # which compare as bytes do
        smallest = rows if smallest is None else np.where(rows < smallest, rows, smallest)
    assert smallest is not None
    _, first, sizes = np.unique(smallest, return_index=True, return_counts=True)
    return Orbits(all_kernels, first.astype(np.int64), sizes.astype(np.int64))


def _on_vertices(corners: Vertices) -> Iterator[NDArray[np.int64]]:
    """Each isometry as a permutation of the vertices: entry i is where vertex i goes."""
    heights = corners.coefficients
    position = {(row - row[0]).tobytes(): i for i, row in enumerate(heights)}
    for isometry in isometries(corners.privacy.space):
        moved = np.empty_like(heights)
        moved[:, isometry] = heights
        yield np.array([position[(row - row[0]).tobytes()] for row in moved])


def kernels(privacy: PrivacyType, *, progress: Report | None = None) -> Kernels:
    """All kernel mechanisms of a privacy type.

    Exact, for rational and irrational bounds alike. ``progress`` is called about ten times a second.

    Raises
    ------
    UndecidedError
        If a determinant cannot be told from zero: only for measured distances, or for a rational α and
        several irrational distances.
    NotSupported
        For more than 16 secrets, or lists too long to make: see :func:`estimate_kernels`.

    Examples
    --------
    >>> from sfumato.spaces import grid, line
    >>> listed = kernels(PrivacyType(line(4), alpha="1/2"))
    >>> len(listed), listed.sizes()
    (11, {2: 1, 3: 2, 4: 8})
    >>> [str(w) for w in listed[0].weights]
    ['2/3', '2/3']
    >>> kernels(PrivacyType(grid(2, 2), alpha="1/2"))
    Kernels(403 of PrivacyType(grid(2, 2, euclidean), alpha=1/2))
    """
    corners = _few_vertices(privacy)
    return Kernels(corners, np.concatenate(list(supports_in_pieces(rays_of(corners), progress)), axis=1))


def _few_vertices(privacy: PrivacyType) -> Vertices:
    """The vertices of a type small enough for kernels."""
    space = as_type(privacy).space
    if len(space) > MOST_SECRETS:
        raise NotSupported(f"kernels for {len(space)} secrets", [f"at most {MOST_SECRETS}"])
    return vertices(privacy)


def each_kernel(privacy: PrivacyType, *, progress: Report | None = None) -> Iterator[Kernel]:
    """One kernel after the other, without ever holding all of them.

    What is held is the list one equation before the last, which is far shorter.

    Examples
    --------
    >>> from itertools import islice
    >>> from sfumato.spaces import line
    >>> [len(kernel.support) for kernel in islice(each_kernel(PrivacyType(line(6), alpha="1/2")), 3)]
    [2, 3, 3]
    """
    corners = _few_vertices(privacy)
    for piece in supports_in_pieces(rays_of(corners), progress):
        for support in piece.T:
            yield Kernel(corners, tuple(members_of(support)))


def count_kernels(privacy: PrivacyType, *, progress: Report | None = None) -> int:
    """The number of kernel mechanisms, exactly, without holding them."""
    return sum(piece.shape[1] for piece in supports_in_pieces(rays_of(_few_vertices(privacy)), progress))
