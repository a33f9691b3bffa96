"""The search for the best columns: a measure on those that are known, then those that it lacks, and so on.

Each round solves the program of :mod:`sfumato.design.shares.measure` on the columns it has, drops those of hardly any
mass, and adds the ones with the most of |B r|² − m·r. Where the rays are listed, the largest excess t gives a bound,
2 tr(A Bᵀ) − m·1 − t, since m + t p is a certificate; the search ends when it is near enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from sfumato.design.answer import tell_state
from sfumato.design.shares.columns import RaySource
from sfumato.design.shares.measure import ColumnMeasure, best_masses
from sfumato.lp.cone.program import ColumnProgress
from sfumato.numbers import Floats
from sfumato.watch import TimeIsUp, Watch

_MOST_ADDED = 300  # columns in a round
_ROUGH, _FINE = 1e-2, 1e-10  # relative tolerance of a round that has far to go, and of the last one
_ENOUGH = 1e-6  # of the last one where a relaxation, which is coarser by far, is what bounds it
# A column whose mass is this part of the largest is dropped, or as small a part as the gap, or at the end: if more were
# dropped, they would come back.
_DROPPED, _EMPTY = {True: 1e-3, False: 2e-2}, 1e-7
_FRESH = 0.1  # mass of a new column, as a part of the mean
_FASTER = 0.5  # of the gap is left after a round of a search through a list, or nothing is dropped any more
_ROUNDS = 200
_PATIENCE = 8  # rounds of a search without a list that gain less than this in all
_LITTLE = 2e-3


@dataclass(frozen=True, eq=False)
class Found:
    """Columns with p·r = 1 and a measure on them; ``bound`` is −∞ where the rays are not listed."""

    columns: Floats
    measure: ColumnMeasure
    bound: float
    iterations: int
    finished: bool

    def or_better(self, other: Found | None) -> Found:
        """The columns and masses of less value, with the B and m of the higher bound, of two rounds."""
        if other is None:
            return self
        one = self if self.measure.value < other.measure.value else other
        proof = self if self.bound > other.bound else other if other.bound > self.bound else one
        measure = replace(one.measure, dual=proof.measure.dual, prices=proof.measure.prices)
        return replace(one, measure=measure, bound=proof.bound, iterations=max(self.iterations, other.iterations))


def _bound_of(source: RaySource, found: Found, wanted: Floats) -> float:
    """What B and m prove, if the rays are listed: with t p more, t their largest excess, it holds for all."""
    if not source.complete:
        return -np.inf
    measure = found.measure
    excess = source.beyond(measure, found.columns, Watch())[1][0]
    return 2 * float((wanted * measure.dual).sum()) - float(measure.prices.sum() + excess)


def searched(
    source: RaySource, wanted: Floats, tolerance: float, watch: Watch, progress: Callable[..., object] | None
) -> Found:
    """The best measure on rays, to a relative tolerance; what there is when the time is up."""
    columns = source.start(wanted)
    masses = np.full(len(columns), 1 / len(columns))
    best: Found | None = None
    values: list[float] = []
    rough, before = _ROUGH, np.inf
    for count in range(1, _ROUNDS + 1):
        try:
            measure = best_masses(columns, wanted, masses, rough, watch if best is not None else Watch())
            extra, excess = source.beyond(measure, columns, watch if best is not None else Watch())
        except TimeIsUp:
            break
        bound = 2 * float((wanted * measure.dual).sum()) - float(measure.prices.sum() + excess[0])
        best = Found(columns, measure, bound if source.complete else -np.inf, count, False).or_better(best)
        gap = (best.measure.value - best.bound) / best.measure.value
        tell_state(progress, ColumnProgress(count, best.measure.value, best.bound, gap, watch.spent), watch)
        values.append(measure.value)
        slow = len(values) > _PATIENCE and values[-_PATIENCE - 1] < (1 + _LITTLE) * values[-1]
        if gap <= tolerance or (not source.complete and slow) or watch.over:
            best = replace(best, finished=not watch.over)
            break
        # a measure that is good to a hundredth of the gap shows what is missing
        rough = max(min(rough, gap / 100), _FINE) if source.complete else _ROUGH
        least = max(min(_DROPPED[source.complete], gap / 10), _EMPTY)
        if source.complete and gap > _FASTER * before:  # what was dropped comes back
            least = 0.0
        before = gap
        columns, masses = _next_columns(columns, measure.masses, extra, excess, least)
    assert best is not None
    return best


def _next_columns(
    columns: Floats, masses: Floats, extra: Floats, excess: Floats, least: float
) -> tuple[Floats, Floats]:
    """The columns that carry mass, and the ones that are missing."""
    kept = masses > least * masses.max()
    if np.linalg.matrix_rank(columns[kept]) < columns.shape[1]:  # the best W is singular, and no W of a search may be
        kept[qr(columns.T, mode="r", pivoting=True)[1][: columns.shape[1]]] = True
    added = extra[excess > 0][:_MOST_ADDED]
    held = {column.tobytes() for column in columns[kept]}
    added = added[[column.tobytes() not in held for column in added]] if len(added) else added
    fresh = np.full(len(added), _FRESH * float(masses[kept].mean()))
    return np.concatenate([columns[kept], added]), np.concatenate([masses[kept], fresh])


def polished(source: RaySource, found: Found, wanted: Floats, watch: Watch) -> Found:
    """The same without columns of hardly any mass, as exactly as floats can."""
    kept = found.measure.masses > _EMPTY * found.measure.masses.max()
    if np.linalg.matrix_rank(found.columns[kept]) < np.linalg.matrix_rank(found.columns):
        kept[:] = True  # the best W is singular, and columns that hardly have mass keep it from being so
    try:
        fine = _FINE if source.complete else _ENOUGH
        measure = best_masses(found.columns[kept], wanted, found.measure.masses[kept], fine, watch)
    except TimeIsUp:
        return found
    fresh = replace(found, columns=found.columns[kept], measure=measure)
    return replace(fresh, bound=_bound_of(source, fresh, wanted)).or_better(found)


def fewest(found: Found) -> Found:
    """The same W with at most n(n + 1)/2 columns, where rays are listed: as long as there are more, some of them depend
    on each other, and mass moves along that dependence until a column has none (Carathéodory).
    """
    if not np.isfinite(found.bound):
        return found
    columns, masses = found.columns, found.measure.masses.copy()
    first, second = np.triu_indices(columns.shape[1])
    products, most = columns[:, first] * columns[:, second], len(first)
    left = np.arange(len(columns))
    while len(left) > most:
        some = left[: most + 1]
        shift = np.linalg.svd(products[some].T)[2][-1]
        shift = shift if shift.max() > -shift.min() else -shift
        ratios = np.where(shift > 0, masses[some] / np.where(shift > 0, shift, 1.0), np.inf)
        masses[some] -= ratios.min() * shift
        masses[some[int(ratios.argmin())]] = 0.0
        left = left[masses[left] > 0]
    return replace(found, columns=columns[left], measure=replace(found.measure, masses=masses[left]))
