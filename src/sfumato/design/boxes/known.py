"""Known mechanisms on the coordinates of a box, side by side: what each loses, its promise about all points proved.

Laplace noise that is the same everywhere, the same moved to where a consumer who knows the prior would guess, and
tables for the cells made smooth, the exponential mechanism first of all. The rows that are not proved are there for
comparison: noise as it is programmed with floats has the loss k/ε and no promise that holds for what a machine draws;
interpolation between anchors is within the promise at the points that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.certify.coordinates import BoxMechanism, CoordinateMechanism, check_prior, prove_on_box
from sfumato.certify.noise import BoxNoise
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.boxes.anchors import interpolated
from sfumato.design.boxes.moments import Moments, density_moments
from sfumato.design.boxes.table import best_places, exact_points, table_claim
from sfumato.design.comparison_rows import OPTIMAL, Compared, Comparison, ComparisonTerms, names_of_known, sorted_rows
from sfumato.design.objectives import Objective
from sfumato.design.optimal import design
from sfumato.errors import InvalidInput, NotSupported, PrivacyViolation, SolverError, expect
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.mechanisms.box_noise import laplace_noise, noise_on_box
from sfumato.mechanisms.registry import LARGEST_CELLS, MECHANISMS, KnownMechanism, table_on_box
from sfumato.mechanisms.smoothing import merged_columns
from sfumato.numbers import Array, Floats, text_above
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
from sfumato.verdict import holds, undecided
from sfumato.watch import TimeIsUp, Watch, watch_of

_PARTS = 2  # of a piece between breaks, for a claimed loss: more make it a little smaller
_UNASKED = "planar_laplace", "exponential"  # compared where nobody names others
_FOR_ALL = holds("for all points")


def compare_on_box(
    prior: Prior | None, loss: Any, privacy: PrivacyType, objective: Objective, terms: ComparisonTerms
) -> Comparison:
    """Known mechanisms for coordinates; :func:`~sfumato.design.comparison.compare_known` calls it.

    Noise is there on a lattice and as a table, other mechanisms of the list are made smooth, all within the promise
    about all points of the box. Tables are made where it has at most 900 cells; beyond there is the noise alone. A row
    has the ``rate`` that is proved, None where nothing is. Of a mapping only its mechanisms are rows, as they are.

    Examples
    --------
    >>> from sfumato.design.comparison import compare_known
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> unit = box((1,), step="1/10")
    >>> found = compare_known(Prior.uniform(unit), distance(unit), PrivacyType(unit, epsilon=4))
    >>> [(row.name, round(float(row.loss), 3), row.rate) for row in found if row.rate][:2]
    [('laplace noise, remapped', 0.165, Fraction(4, 1)), ('laplace noise, in the box', 0.191, Fraction(4, 1))]
    """
    if not objective.plain:
        raise NotSupported("an objective in a comparison on a box", ["the expected loss, without limits"])
    prior, (privacy, box) = as_prior(prior), as_box_type(privacy)
    loss = expect(loss, CoordinateLoss, "a loss between points", "losses.distance(box) makes one")
    check_prior(prior, loss, box)
    mechanisms, progress, watch = terms.mechanisms, terms.progress, watch_of(terms.time_limit)
    if isinstance(mechanisms, Mapping):
        own = [_own_row(name, made, prior, loss, privacy) for name, made in mechanisms.items()]
        return Comparison("distance", prior, loss, privacy, sorted_rows(own), {})
    rows = [_in_floats(f"{noise_name(box)} in floats", box.dimension / float(box_rate(privacy)), "by rounding")]
    left_out = {}
    stages: dict[str, Callable[[], list[Compared]]] = {}
    for known in (MECHANISMS[name] for name in (_UNASKED if mechanisms is None else names_of_known(mechanisms))):
        table, name = partial(_table_rows, known, privacy, prior, loss), f"smooth {known.name.replace('_', ' ')}"
        if known.points == "noise":
            name = f"{noise_name(box)}, as a table"
            stages[noise_name(box)] = lambda: [_noise_row(prior, loss, privacy)]
        if len(box) <= LARGEST_CELLS:
            stages[name] = table
    if len(box) > LARGEST_CELLS:
        left_out["tables"] = f"tables are made for at most {LARGEST_CELLS} cells, here are {len(box)}"
    elif mechanisms is None:
        stages["interpolated anchors"] = lambda: _anchor_rows(prior, loss, privacy, box, watch)
    if terms.optimal:
        stages[OPTIMAL] = lambda: [_best_row(prior, loss, privacy, watch, progress)]
    for name, build in stages.items():
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


def noise_name(box: Box) -> str:
    """What Laplace noise is called in a table: as people know it, where there are two coordinates."""
    return "planar Laplace" if box.dimension == 2 else "laplace noise"


def _noise_row(prior: Prior, loss: CoordinateLoss, privacy: PrivacyType) -> Compared:
    noise = noise_on_box(prior, loss, privacy)
    assert noise.claim is not None
    return _proved(noise_name(noise.box), noise.claim.value, noise)


def _own_row(name: str, given: Any, prior: Prior, loss: CoordinateLoss, privacy: PrivacyType) -> Compared:
    """Somebody's mechanism as it is: what it loses, as it was proved or is proved now, and whether it promises less."""
    made = expect(given, CoordinateMechanism, f"a mechanism for the points of a box as {name}", "load(file) reads one")
    if made.box != loss.box:
        raise InvalidInput(
            f"{name} is about {made.box.name}, the others about {loss.box.name}: compare them on one box"
        )
    if made.claim is None or not np.array_equal(made.claim.prior.weights, prior.weights):
        made = _WEIGHED[made.drawn_as](made, prior, loss)
    if made.claim is None:
        raise InvalidInput(f"{name} does not say what its noise loses: write it for a prior, as `sfumato known` does")
    row, rate = _proved(name, made.claim.value, made), box_rate(privacy)
    if made.rate <= rate:
        return row
    weaker = undecided(
        f"its own promise is weaker: ε = {text_above(float(made.rate))} where {float(rate):.6g} is asked"
    )
    return replace(row, proved=weaker, measured={**row.measured, "note": weaker.reason})


def _proved(name: str, loss: Fraction, made: Any, bound: Fraction | None = None) -> Compared:
    """What is proved for all points; it loses at most so much."""
    found = {"loss": loss, "rate": made.rate, "epsilon": made.rate, "note": _FOR_ALL.reason}
    return Compared(name, loss, found, _FOR_ALL, made, bound)


def _in_floats(name: str, loss: float, why: str) -> Compared:
    """What is there to be compared with, and is proved for nothing."""
    return Compared(name, loss, {"loss": loss, "rate": None, "epsilon": None, "note": f"no, {why}"}, undecided(why))


def _table_rows(known: KnownMechanism, privacy: PrivacyType, prior: Prior, loss: CoordinateLoss) -> list[Compared]:
    """With outputs as they are, and remapped."""
    rows, table = [], table_on_box(known, privacy)
    name = noise_name(table.box) if known.points == "noise" else f"smooth {known.name.replace('_', ' ')}"
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


def known_for_points(
    known: KnownMechanism, privacy: PrivacyType, prior: Prior | None, loss: Any, remap: bool
) -> BoxMechanism | BoxNoise:
    """A known mechanism for all points of a box; with a prior and a loss, what it loses is proved too."""
    weighed = None if prior is None or loss is None else (as_prior(prior), loss)
    if known.points == "noise" and not remap:
        return laplace_noise(privacy) if weighed is None else noise_on_box(*weighed, privacy)
    table = table_on_box(known, privacy)
    if weighed is None:
        return table
    expect(loss, CoordinateLoss, "a loss between points", "losses.distance(box) makes one")
    return remapped(table, *weighed) if remap else with_loss(table, *weighed)


def with_loss(mechanism: BoxMechanism, prior: Prior, loss: CoordinateLoss) -> BoxMechanism:
    """The same mechanism, with what it loses at most for a prior proved."""
    check_prior(prior, loss, mechanism.box)
    weighed = density_moments(mechanism.rounding, prior.float_weights, _PARTS)
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
        claim=table_claim(weights, cost, prior, loss, _PARTS), provenance=mechanism.provenance,
    )  # fmt: skip


def remapped(mechanism: BoxMechanism, prior: Prior, loss: CoordinateLoss) -> BoxMechanism:
    """Outputs moved to where they lose least for a prior, a post-processing; with what it then loses proved.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> from sfumato.mechanisms.box_noise import noise_table
    >>> strip = box((4,), step=1)
    >>> table = noise_table(laplace_noise(PrivacyType(strip, epsilon=1), parts=1))
    >>> prior = Prior.on_cells([1, 9, 1, 1], strip)
    >>> told = remapped(table, prior, distance(strip))
    >>> float(told.claim.value) < float(with_loss(table, prior, distance(strip)).claim.value)
    True
    """
    mechanism = expect(mechanism, BoxMechanism, "a mechanism on a box", "smooth(table, box) makes one")
    check_prior(prior, loss, mechanism.box)
    weighed = density_moments(mechanism.rounding, prior.float_weights, _PARTS)
    masses = np.asarray(weighed.weights.T @ (mechanism.weights / float(mechanism.total)).astype(np.float64))
    places = best_places(_floats(mechanism.outputs, mechanism.box), masses, weighed.points, loss)
    weights, outputs = merged_columns(mechanism.weights, exact_points(places, mechanism.box.origin))
    return _with_loss(mechanism, weights, outputs, prior, loss, weighed)


_WEIGHED: dict[str, Callable[[Any, Prior, CoordinateLoss], Any]] = {
    "table": with_loss, "noise": lambda noise, prior, loss: noise,
}  # fmt: skip
"""The same mechanism with what it loses for a prior, which does not matter to noise that is the same everywhere."""


def _floats(outputs: Sequence[Any], box: Box) -> Floats:
    """Outputs as floats, counted from the origin of the box."""
    rows = [y if isinstance(y, tuple) else (y,) for y in outputs]
    return np.array([[float(Fraction(c) - o) for c, o in zip(row, box.origin, strict=True)] for row in rows])
