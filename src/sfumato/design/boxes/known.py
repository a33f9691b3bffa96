"""Known mechanisms on the coordinates of a box, side by side: what each loses, its promise about all points proved.

Laplace noise that is the same everywhere, the same moved to where a consumer who knows the prior would guess, and
tables for the cells made smooth, the exponential mechanism first of all. The rows that are not proved are there for
comparison: noise as it is programmed with floats has the loss k/ε and no promise that holds for what a machine draws;
interpolation between anchors is within the promise at the points that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.arguments import flag, one_of, optional_function
from sfumato.certify.coordinates import BoxMechanism, check_prior, prove_on_box
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.boxes.anchors import interpolated
from sfumato.design.boxes.moments import Moments, moments
from sfumato.design.boxes.table import best_places, claim_of, exact_points
from sfumato.design.comparison_rows import OPTIMAL, Compared, Comparison, sorted_rows
from sfumato.design.optimal import design
from sfumato.errors import NotSupported, PrivacyViolation, SolverError, expect
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box, noise_table
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.mechanisms.smoothing import merged_columns, smooth
from sfumato.numbers import Array, Floats, exact
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import METRICS, Box
from sfumato.spaces.constructors import grid, line
from sfumato.spaces.finite import FiniteSpace
from sfumato.verdict import Verdict, fails, holds, undecided
from sfumato.watch import TimeIsUp, Watch, watch_of

_PARTS = 2  # of a piece between breaks, for a claimed loss: more make it a little smaller
_LARGEST_CELLS = 900  # of a box whose tables are built unasked
_COARSE = 0.5  # ε times a step of the lattice of a table
_NO_POINTS = (  # whose outputs are names
    "closest_pair", "hadamard_response", "membership", "one_against_rest", "pixelated_laplace", "subset_selection",
    "unary_encoding",
)  # fmt: skip
_FOR_ALL = holds("for all points")
_TRIES = 6  # nominal rates of a table until its smooth one keeps the promise


def known_on_box(
    prior: Prior,
    loss: CoordinateLoss,
    privacy: PrivacyType,
    *,
    optimal: bool = False,
    time_limit: float | Watch | None = None,
    progress: Callable[[Any], object] | None = None,
) -> Comparison:
    """Known mechanisms for coordinates beside each other, each within the promise about all points of the box.

    Tables are made where the box has at most 900 cells; beyond there is the noise alone.

    Parameters
    ----------
    optimal
        Whether the best mechanism is designed too, within 3 % if the time allows; its row has the bound that none goes
        below.
    time_limit
        Seconds for all of it; what has not begun by then is left out, with the reason.
    progress
        Called with what begins, and with the state of the design.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> unit = box((1,), step="1/10")
    >>> found = known_on_box(Prior.uniform(unit), distance(unit), PrivacyType(unit, epsilon=4))
    >>> [(row.name, round(float(row.loss), 3), row.rate) for row in found if row.rate][:2]
    [('laplace noise, remapped', 0.165, Fraction(4, 1)), ('laplace noise, in the box', 0.191, Fraction(4, 1))]
    """
    prior, (privacy, box) = as_prior(prior), as_box_type(privacy)
    loss = expect(loss, CoordinateLoss, "a loss between points", "losses.distance(box) makes one")
    check_prior(prior, loss, box)
    progress, watch = optional_function(progress, "progress"), watch_of(time_limit)
    rows, left_out = [], {}
    rows.append(_in_floats("laplace noise in floats", box.dimension / float(box_rate(privacy)), "by rounding"))
    stages: list[tuple[str, Callable[[], list[Compared]]]] = [
        ("laplace noise", lambda: [_noise_row(prior, loss, privacy)])
    ]
    if len(box) > _LARGEST_CELLS:
        left_out["tables"] = f"tables are made for at most {_LARGEST_CELLS} cells, here are {len(box)}"
    else:
        stages += [
            ("laplace noise, as a table", lambda: _table_rows("laplace noise", laplace_table(privacy), prior, loss)),
            ("smooth exponential", lambda: _table_rows("smooth exponential", smooth_known(privacy), prior, loss)),
            ("interpolated anchors", lambda: _anchor_rows(prior, loss, privacy, box, watch)),
        ]
    if flag(optimal, "optimal"):
        stages.append((OPTIMAL, lambda: [_best_row(prior, loss, privacy, watch, progress)]))
    for name, build in stages:
        try:
            if progress is not None:
                progress(name)
            watch.check()
            rows += build()
        except (NotSupported, PrivacyViolation, SolverError) as refusal:
            left_out[name] = str(refusal)
        except TimeIsUp:
            left_out[name] = "the time is up"
        except KeyboardInterrupt:  # with what there is
            watch.stop()
            left_out[name] = "stopped before it was made"
    return Comparison("distance", prior, loss, privacy, sorted_rows(rows), left_out)


def _noise_row(prior: Prior, loss: CoordinateLoss, privacy: PrivacyType) -> Compared:
    noise = noise_on_box(prior, loss, privacy)
    assert noise.claim is not None
    return _proved("laplace noise", noise.claim.value, noise)


def _proved(name: str, loss: Fraction, made: Any, bound: Fraction | None = None) -> Compared:
    """What is proved for all points; it loses at most so much."""
    found = {"loss": loss, "rate": made.rate, "epsilon": made.rate, "note": _FOR_ALL.reason}
    return Compared(name, loss, found, _FOR_ALL, made, bound)


def _in_floats(name: str, loss: float, why: str) -> Compared:
    """What is there to be compared with, and is proved for nothing."""
    return Compared(name, loss, {"loss": loss, "rate": None, "epsilon": None, "note": f"no, {why}"}, undecided(why))


def _table_rows(name: str, table: BoxMechanism, prior: Prior, loss: CoordinateLoss) -> list[Compared]:
    """With outputs as they are, and remapped."""
    rows = []
    for suffix, made in ((", in the box", with_loss(table, prior, loss)), (", remapped", remapped(table, prior, loss))):
        assert made.claim is not None
        rows.append(_proved(name + suffix, made.claim.value, made))
    return rows


def _anchor_rows(prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, box: Box, watch: Watch) -> list[Compared]:
    found = interpolated(prior, loss, privacy, box, watch)
    name, why = f"{found.anchors} interpolated anchors in floats", f"within {found.slope:.3f} ε on a raster"
    return [_in_floats(name, found.loss, why), _in_floats(f"{name}, remapped", found.remapped, why)]


def _best_row(
    prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, watch: Watch, progress: Callable[[Any], object] | None
) -> Compared:
    best = design(prior, loss, privacy, time_limit=watch, progress=progress)
    return _proved(OPTIMAL, best.loss, best.mechanism, best.bound)


def laplace_table(privacy: PrivacyType) -> BoxMechanism:
    """Laplace noise as a table, on a lattice so coarse that it fits: to be remapped."""
    privacy, box = as_box_type(privacy)
    parts = [max(1, int(np.ceil(privacy.rate * float(step) / _COARSE))) for step in box.step]
    return noise_table(laplace_noise(privacy, parts=parts))


def smooth_known(privacy: PrivacyType, name: str = "exponential") -> BoxMechanism:
    """A known mechanism of the cells made smooth, with as little noise as the promise about all points then allows.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> smooth_known(PrivacyType(box((2, 2), step="1/2"), epsilon=1), "planar_laplace")
    BoxMechanism(6 × 6 lattice points → 16 outputs, PrivacyType(box(2 × 2, euclidean), epsilon=1), proved)
    """
    (privacy, box), build = as_box_type(privacy), MECHANISMS[one_of(name, tuple(MECHANISMS), "known mechanism")]
    space = cells_of(box)
    verdict = smooth_exists(privacy, name)
    if verdict.outcome != "holds":
        raise NotSupported(f"{name} on {box.name}: {verdict.reason}")
    rate, wanted = box_rate(privacy), float(box_rate(privacy))
    nominal, best = wanted, None
    for _ in range(_TRIES):  # rates are about proportional, so that a few steps settle it
        try:
            made = smooth(build(PrivacyType(space, epsilon=round(nominal, 9))), box)
        except NotSupported:  # cells are so large beside 1/ε that it keeps next to nothing
            nominal /= 2
            continue
        if made.rate <= rate:
            best = made
        if best is made and made.rate > rate * Fraction(999, 1000):
            break
        nominal *= 0.9995 * wanted / float(made.rate)
    if best is None:
        raise NotSupported(f"{name}, made smooth, within the promise", ["smaller cells"])
    return prove_on_box(
        best.weights, privacy, best.rounding, best.outputs, rate=rate, halvings=best.halvings,
        provenance=best.provenance | {"epsilon": str(float(rate))},
    )  # fmt: skip


def smooth_exists(privacy: PrivacyType, name: str) -> Verdict:
    """Whether a known mechanism of the cells can be made smooth, with the reason."""
    privacy, box = as_box_type(privacy)
    if name in _NO_POINTS:
        return fails("its outputs are no points of the box")
    try:
        cells = cells_of(box)
    except NotSupported as refusal:
        return fails(str(refusal))
    return MECHANISMS[name].applies(PrivacyType(cells, epsilon=exact(privacy.rate)))


def cells_of(box: Box) -> FiniteSpace:
    """The centres of the cells as a list of secrets."""
    if len({*box.step}) > 1:
        raise NotSupported("a grid of cells whose sides differ", ["cells with equal sides"])
    if len(box) > _LARGEST_CELLS:
        raise NotSupported(f"a table for {len(box)} cells", [f"at most {_LARGEST_CELLS}", "larger cells"])
    step = box.step[0]
    if box.dimension == 1:
        return line(box.shape[0], step=step, unit=box.unit)
    return grid(*box.shape, step=step, metric=one_of(box.metric, METRICS, "metric"), unit=box.unit)


def with_loss(mechanism: BoxMechanism, prior: Prior, loss: CoordinateLoss) -> BoxMechanism:
    """The same mechanism, with what it loses at most for a prior proved."""
    check_prior(prior, loss, mechanism.box)
    weighed = moments(mechanism.rounding, prior.float_weights, _PARTS)
    return _with_loss(mechanism, mechanism.weights, mechanism.outputs, prior, loss, weighed)


def _with_loss(
    mechanism: BoxMechanism,
    weights: Array,
    outputs: Sequence[Any],
    prior: Prior,
    loss: CoordinateLoss,
    weighed: Moments,
) -> BoxMechanism:
    cost = weighed.costs(loss.at(weighed.points, _floats(outputs, mechanism.box)))
    return prove_on_box(
        weights, mechanism.privacy, mechanism.rounding, outputs, rate=mechanism.rate, halvings=mechanism.halvings,
        claim=claim_of(weights, cost, prior, loss, _PARTS), provenance=mechanism.provenance,
    )  # fmt: skip


def remapped(mechanism: BoxMechanism, prior: Prior, loss: CoordinateLoss) -> BoxMechanism:
    """Outputs moved to where they lose least for a prior, a post-processing; with what it then loses proved.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> strip = box((4,), step=1)
    >>> table = noise_table(laplace_noise(PrivacyType(strip, epsilon=1), parts=1))
    >>> prior = Prior.on_cells([1, 9, 1, 1], strip)
    >>> told = remapped(table, prior, distance(strip))
    >>> float(told.claim.value) < float(with_loss(table, prior, distance(strip)).claim.value)
    True
    """
    mechanism = expect(mechanism, BoxMechanism, "a mechanism on a box", "smooth(table, box) makes one")
    check_prior(prior, loss, mechanism.box)
    weighed = moments(mechanism.rounding, prior.float_weights, _PARTS)
    masses = np.asarray(weighed.weights.T @ (mechanism.weights / float(mechanism.total)).astype(np.float64))
    places = best_places(_floats(mechanism.outputs, mechanism.box), masses, weighed.points, loss)
    weights, outputs = merged_columns(mechanism.weights, exact_points(places, mechanism.box.origin))
    return _with_loss(mechanism, weights, outputs, prior, loss, weighed)


def _floats(outputs: Sequence[Any], box: Box) -> Floats:
    """Outputs as floats, counted from the origin of the box."""
    rows = [y if isinstance(y, tuple) else (y,) for y in outputs]
    return np.array([[float(Fraction(c) - o) for c, o in zip(row, box.origin, strict=True)] for row in rows])
