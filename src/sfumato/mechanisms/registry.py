"""Every known mechanism by name, where it applies and what it is optimal for: one list for doors, docs and tests.

For all points of a box a known mechanism is noise that is the same everywhere, or the table for the cells made smooth.
Which of the two it is, and whether there is one at all, each member of :data:`MECHANISMS` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from sfumato.arguments import one_of
from sfumato.certify.coordinates import BoxMechanism, prove_on_box
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import NotSupported
from sfumato.mechanisms.box_noise import laplace_noise, noise_table
from sfumato.mechanisms.continuous.laplace import truncated_laplace
from sfumato.mechanisms.continuous.pixelation import on_lattice, pixelate
from sfumato.mechanisms.exponential import exponential
from sfumato.mechanisms.line import geometric, hamming_kernel, line_order, ones_of
from sfumato.mechanisms.local import (
    check_bits,
    check_rows,
    check_subsets,
    hadamard_response,
    subset_selection,
    unary_encoding,
)
from sfumato.mechanisms.planar import in_the_plane, planar_geometric, planar_laplace, plane_of
from sfumato.mechanisms.proved import LARGEST_TABLE, proved
from sfumato.mechanisms.response import (
    binary,
    closest_pair,
    dual_random_response,
    membership,
    one_against_rest,
    random_response,
)
from sfumato.mechanisms.selection import permute_and_flip
from sfumato.mechanisms.smoothing import smooth
from sfumato.mechanisms.staircase import staircase, stretch_of, stretched_geometric
from sfumato.mechanisms.tight import tight_constraints
from sfumato.numbers import exact
from sfumato.privacy.rates import box_rate
from sfumato.privacy.regular import has_tight_constraints
from sfumato.privacy.type import PrivacyType, as_box_type, as_type
from sfumato.spaces.box import METRICS, Box
from sfumato.spaces.constructors import grid, line
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict, fails, holds

_PIXELS = 4  # Pixels for each step between two secrets.


@dataclass(frozen=True, eq=False)
class KnownMechanism:
    """A constructor that needs nothing but a promise.

    Parameters
    ----------
    name
        How the constructor is called; one of its options may follow.
    build
        From a privacy type to a proved mechanism.
    applies
        Whether it exists for a privacy type, with the reason.
    spaces
        The same in words.
    optimal
        For which losses nothing is better, as far as is known.
    points
        How it is made for all points of a box (:mod:`sfumato.mechanisms.registry`): ``"smooth"``, a table for
        the cells with smooth random rounding in front; ``"noise"``, the same everywhere; empty where its outputs are
        no points.
    """

    name: str
    build: Callable[[PrivacyType], Any]
    applies: Callable[[PrivacyType], Verdict]
    spaces: str
    optimal: str
    points: Literal["smooth", "noise", ""] = "smooth"

    def __call__(self, privacy: PrivacyType) -> Any:
        """The mechanism."""
        return self.build(as_type(privacy))


def pixelated_laplace(privacy: PrivacyType) -> Mechanism:
    """The truncated Laplace mechanism on the interval that a line spans, its outputs cut into pixels.

    Four pixels for each step between two secrets, named by how far their left ends are from the first secret. For
    secrets on a line it is a post-processing of the geometric mechanism (Fernandes, McIver and Morgan 2021,
    Lemma 11), so it is never better than that one. Its promise holds between the secrets too.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> pixelated_laplace(PrivacyType(line(3), alpha="1/16"))
    Mechanism(3 secrets → 8 outputs, PrivacyType(line(3), alpha=1/16), proved)
    """
    privacy = as_type(privacy)
    order, step = _equal_steps(privacy.space)
    steps = len(order) - 1
    source = truncated_laplace(privacy.epsilon, alpha=privacy.alpha, interval=(0, step * steps))
    coarse = pixelate(source, _PIXELS * steps)
    table = on_lattice(coarse, steps).matrix
    return proved("pixelated_laplace", privacy, table[np.argsort(order)], coarse.outputs, pixels=coarse.pixels)


def _equal_steps(space: FiniteSpace) -> tuple[list[int], Any]:
    """The order of a line and its step, if all steps are one rational number."""
    order, table = line_order(space), space.distances
    steps = {table.bounds(table.values[x, z]) for x, z in pairwise(order)}
    if len(steps) != 1 or len({*next(iter(steps))}) != 1:
        raise NotSupported(f"pixels on {space.name}", ["a line with equal steps and more than one point"])
    return order, next(iter(steps))[0]


def _where(check: Callable[[FiniteSpace], Any], so: str) -> Callable[[PrivacyType], Verdict]:
    """Applies where a check does not refuse the space."""
    return _whenever(lambda privacy: check(privacy.space), so)


def _whenever(check: Callable[[PrivacyType], Any], so: str) -> Callable[[PrivacyType], Verdict]:
    """Applies where a check does not refuse the promise."""

    def applies(privacy: PrivacyType) -> Verdict:
        if len(privacy.space) > LARGEST_TABLE:
            return fails(f"a table of {len(privacy.space)} secrets is beyond the {LARGEST_TABLE} that are built")
        try:
            check(privacy)
        except NotSupported as refusal:
            return fails(str(refusal))
        return holds(so)

    return applies


def _any(space: FiniteSpace) -> None:
    """Every space will do."""


def _several(space: FiniteSpace) -> None:
    if len(space) < 2:
        raise NotSupported("one secret", ["two or more"])


def _two(space: FiniteSpace) -> None:
    if len(space) != 2:
        raise NotSupported(f"{len(space)} secrets", ["2 secrets"])


def _some_near(space: FiniteSpace) -> None:
    if not space.pairs.first.size:
        raise NotSupported(f"{space.name}, where no two secrets are at a finite distance", ["a closest pair"])


def _tight(privacy: PrivacyType) -> Verdict:
    small = _where(_any, "")(privacy)
    return has_tight_constraints(privacy) if small else small


_ANYWHERE = _where(_any, "any space"), "any"
_ON_SUMS = _where(stretch_of, "distances ⌈|i − j|/Δ⌉"), "sum queries and lines with equal steps"
_IN_THE_PLANE = _where(plane_of, "a grid in the plane"), "Euclidean grids in the plane"
_ON_PLACES = _where(in_the_plane, "points in the plane"), "Euclidean grids and points in the plane, places of a region"
_ON_SEVERAL = _where(_several, "two or more secrets")
_FOR_GUESSING = "bin, for regular priors, where it exists"
_NO_LOSS_KNOWN = "none that is known"

MECHANISMS: dict[str, KnownMechanism] = {
    known.name: known
    for known in (
        KnownMechanism(
            "geometric", geometric, _where(line_order, "a line"), "lines of any spacing",
            "absolute, squared, thresholds, bin, nib and all losses with single crossings, for every prior",
        ),
        KnownMechanism(
            "pixelated_laplace", pixelated_laplace, _where(_equal_steps, "a line with equal steps"),
            "lines with equal steps", "none; the limit of fine pixels is, for secrets in an interval",
            points="",
        ),
        KnownMechanism(
            "stretched_geometric", stretched_geometric, *_ON_SUMS,
            "as the geometric one for Δ = 1, otherwise none that is known",
        ),
        KnownMechanism(
            "staircase", staircase, *_ON_SUMS, "expected absolute noise among additive noise on all integers",
        ),
        KnownMechanism(
            "hamming_kernel", hamming_kernel, _where(ones_of, "a Hamming cube"), "Hamming cubes of bits",
            "single crossings along a path from 0…0 to 1…1, lifted by zeros",
        ),
        KnownMechanism("binary", binary, _where(_two, "two secrets"), "two secrets", "every loss, for every prior"),
        KnownMechanism(
            "closest_pair", closest_pair, _where(_some_near, "a closest pair"), "any with two secrets",
            "losses on the two closest secrets, lifted by zeros, for every prior",
            points="",
        ),
        KnownMechanism(
            "one_against_rest", lambda privacy: one_against_rest(privacy, privacy.secrets[0]), _ON_SEVERAL,
            "any with two secrets; the first against the rest",
            "losses on this secret and one other of a discrete space, lifted by zeros",
            points="",
        ),
        KnownMechanism(
            "membership", lambda privacy: membership(privacy, privacy.secrets[: len(privacy.secrets) // 2]),
            _ON_SEVERAL, "any with two secrets; the first half against the rest",
            "membership of that half on a discrete space, for every prior",
            points="",
        ),
        KnownMechanism(
            "random_response", random_response, *_ANYWHERE, "bin, for the uniform prior on a discrete space",
        ),
        KnownMechanism(
            "dual_random_response", dual_random_response, *_ANYWHERE, "nib, for the uniform prior on a discrete space",
        ),
        KnownMechanism(
            "subset_selection", subset_selection, _whenever(check_subsets, "few sets of the best size"),
            "any with few sets of the best size",
            "shares on a discrete space, for the uniform prior: the least total variance of estimates",
            points="",
        ),
        KnownMechanism(
            "unary_encoding", unary_encoding, _whenever(check_bits, "few sets of secrets"), "any with up to 12 secrets",
            "none; shares of rare secrets among many come close",
            points="",
        ),
        KnownMechanism(
            "hadamard_response", hadamard_response, _whenever(check_rows, "few rows of a Hadamard matrix"),
            "any", "none; shares up to a constant, with few outputs",
            points="",
        ),
        KnownMechanism("exponential", exponential, *_ANYWHERE, _NO_LOSS_KNOWN),
        KnownMechanism(
            "exponential_exact", lambda privacy: exponential(privacy, calibration="exact"), *_ANYWHERE,
            "bin for regular priors where all secrets see the same distances, otherwise none that is known",
        ),
        KnownMechanism("permute_and_flip", permute_and_flip, *_ANYWHERE, _NO_LOSS_KNOWN),
        KnownMechanism(
            "permute_and_flip_exact", lambda privacy: permute_and_flip(privacy, calibration="exact"), *_ANYWHERE,
            _NO_LOSS_KNOWN,
        ),
        KnownMechanism("planar_laplace", planar_laplace, *_ON_PLACES, _NO_LOSS_KNOWN, points="noise"),
        KnownMechanism(
            "planar_laplace_within", lambda privacy: planar_laplace(privacy, within=True), *_ON_PLACES,
            _NO_LOSS_KNOWN, points="noise",
        ),
        KnownMechanism(
            "planar_geometric", planar_geometric, *_IN_THE_PLANE, "none on a finite grid; bin far from the border",
        ),
        KnownMechanism(
            "tight_constraints", tight_constraints, _tight, "where Φz = 1 has a solution z ≥ 0", _FOR_GUESSING,
        ),
    )
}  # fmt: skip
"""Every known mechanism by name."""


LARGEST_CELLS = 900
"""A table for the cells of a box is made for at most so many."""

_COARSE = 0.5  # ε times a step of the lattice of a table
_TRIES = 6  # nominal rates of a table until its smooth one keeps the promise


def exists_on_box(known: KnownMechanism, privacy: PrivacyType) -> Verdict:
    """Whether a known mechanism is there for all points of a box, with the reason.

    Examples
    --------
    >>> from sfumato.mechanisms.registry import MECHANISMS
    >>> from sfumato.spaces.box import box
    >>> promise = PrivacyType(box((2, 2), step="1/2"), epsilon=1)
    >>> print(exists_on_box(MECHANISMS["planar_laplace"], promise))
    holds: noise that is the same everywhere in the box
    >>> print(exists_on_box(MECHANISMS["membership"], promise))
    fails: its outputs are no points of the box
    """
    privacy, box = as_box_type(privacy)
    if known.points == "noise":
        return holds("noise that is the same everywhere in the box")
    if not known.points:
        return fails("its outputs are no points of the box")
    try:
        cells = _cells_of(box)
    except NotSupported as refusal:
        return fails(str(refusal))
    verdict = known.applies(PrivacyType(cells, epsilon=exact(privacy.rate)))
    return holds(f"a table for the cells, made smooth: {verdict.reason}") if verdict.outcome == "holds" else verdict


def table_on_box(known: KnownMechanism, privacy: PrivacyType) -> BoxMechanism:
    """A known mechanism for all points of a box as a table, whose outputs can be moved.

    Noise is put on a lattice so coarse that it fits; a table of the cells is made smooth, with as little noise as the
    promise about all points then allows.

    Examples
    --------
    >>> from sfumato.mechanisms.registry import MECHANISMS
    >>> from sfumato.spaces.box import box
    >>> table_on_box(MECHANISMS["exponential"], PrivacyType(box((2, 2), step="1/2"), epsilon=1))
    BoxMechanism(6 × 6 lattice points → 16 outputs, PrivacyType(box(2 × 2, euclidean), epsilon=1), proved)
    """
    privacy, box = as_box_type(privacy)
    verdict = exists_on_box(known, privacy)
    if verdict.outcome != "holds":
        raise NotSupported(f"{known.name} on {box.name}: {verdict.reason}")
    return _noise_on_lattice(privacy, box) if known.points == "noise" else _smooth(known, privacy, box)


def _noise_on_lattice(privacy: PrivacyType, box: Box) -> BoxMechanism:
    parts = [max(1, int(np.ceil(privacy.rate * float(step) / _COARSE))) for step in box.step]
    return noise_table(laplace_noise(privacy, parts=parts))


def _smooth(known: KnownMechanism, privacy: PrivacyType, box: Box) -> BoxMechanism:
    space, rate, wanted = _cells_of(box), box_rate(privacy), float(box_rate(privacy))
    nominal, best = wanted, None
    for _ in range(_TRIES):  # rates are about proportional, so that a few steps settle it
        try:
            made = smooth(known(PrivacyType(space, epsilon=round(nominal, 9))), box)
        except NotSupported:  # cells are so large beside 1/ε that it keeps next to nothing
            nominal /= 2
            continue
        if made.rate <= rate:
            best = made
        if best is made and made.rate > rate * Fraction(999, 1000):
            break
        nominal *= 0.9995 * wanted / float(made.rate)
    if best is None:
        raise NotSupported(f"{known.name}, made smooth, within the promise", ["smaller cells"])
    return prove_on_box(
        best.weights, privacy, best.rounding, best.outputs, rate=rate, halvings=best.halvings,
        provenance=best.provenance | {"epsilon": str(float(rate))},
    )  # fmt: skip


def _cells_of(box: Box) -> FiniteSpace:
    """The centres of the cells as a list of secrets."""
    if len({*box.step}) > 1:
        raise NotSupported("a grid of cells whose sides differ", ["cells with equal sides"])
    if len(box) > LARGEST_CELLS:
        raise NotSupported(f"a table for {len(box)} cells", [f"at most {LARGEST_CELLS}", "larger cells"])
    step = box.step[0]
    if box.dimension == 1:
        return line(box.shape[0], step=step, unit=box.unit)
    return grid(*box.shape, step=step, metric=one_of(box.metric, METRICS, "metric"), unit=box.unit)
