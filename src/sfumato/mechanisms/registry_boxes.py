"""Known mechanisms for all points of a box: noise that is the same everywhere, or the table for the cells made smooth.

Which of the two it is, and whether there is one at all, each member of
:data:`~sfumato.mechanisms.registry.MECHANISMS` tells.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.arguments import one_of
from sfumato.certify.coordinates import BoxMechanism, prove_on_box
from sfumato.errors import NotSupported
from sfumato.mechanisms.box_noise import laplace_noise, noise_table
from sfumato.mechanisms.registry import KnownMechanism
from sfumato.mechanisms.smoothing import smooth
from sfumato.numbers import exact
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import METRICS, Box
from sfumato.spaces.constructors import grid, line
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict, fails, holds

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
