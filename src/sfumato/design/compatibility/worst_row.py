"""The least chance of missing at one ε: columns in one cone whose worst row loses least, compiled.

Minimise τ over R ≥ 0 in the cones, with rows that sum to 1 and Σ_y T_xy R_xy ≤ τ for every row x. This is the block
interior-point method of :mod:`sfumato.lp.cone.lanes` with one more set of links: the limits have slacks w and prices u,
u sums to 1, and u_x T_xy is the cost that a column sees. With R_y = H_y⁻¹ and T_y the diagonal of a column of the
table, Newton's equations leave

    A dp − B du = …,   −Bᵀ dp + (D + w/u) du + dτ = …,   Σ du = 0,

where A = Σ R_y, B = Σ R_y T_y and D = Σ T_y R_y T_y. The inverses are multiplied out from their roots once an
iteration; everything else is that method's own. Where rows are in classes, links are sums over these.

Floats throughout: the answer is a proposal, and any multipliers with any prices give a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import NotConverged, NotSupported
from sfumato.lp.cone import lanes_passes as newton
from sfumato.lp.cone.lanes_dense import DenseSystems
from sfumato.lp.cone.lanes_iterate import LanesIterate, Worker
from sfumato.lp.cone.program import ColumnProgram, ColumnSolution, Ending, Limit
from sfumato.lp.cone.registers import LANES, load, registers, spread, store

__all__ = ["solve_worst_row"]

Floats = NDArray[np.float64]

_MOST_ITERATIONS = 200
_PATIENCE = 12  # iterations in which the gap must fall by a tenth, or rounding has the upper hand
_CENTRING = 0.2  # the most of the average product that is aimed at
_SECOND_ORDER = (-1.0, 10.0)  # bounds of the second-order term, in average products
_STEP = 0.98  # of the way to the boundary
_CORRECTORS = 3  # for longer steps, at most
_LONGER = 0.4  # by how much a corrector tries to make a step longer
_BOX = (0.1, 3.0)  # products at the longer step, in terms of the one aimed at
_IMBALANCE = 1e-13  # of the sum of a row: steps would add up such errors
_FIRST_SLACK = 0.1  # of the largest sum at the start, beyond it
_SPARE = 0.97  # of a bound, that must still be above a level
_ROUNDED = 1e-6  # by which a value may grow when it is rounded to integers
_SMALLEST_VALUE = 1e-15  # below, rounding errors of rows that sum to 1 are all that is left
_SHIFT = 2.0**-50  # of the diagonal, where the matrix of the links has lost its definiteness


def solve_worst_row(program: ColumnProgram, *, tolerance: float = 1e-3, levels: Iterable[float] = ()) -> ColumnSolution:
    """Minimise the largest of Σ_y T_xy R_xy, for a program whose one limit is relative, one group a class of rows.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop.
    levels
        Numbers with which the optimum is to be compared: the run stops as soon as none of them lies between bound and
        value, nor close above the bound, so that few multipliers are enough to prove it.

    Examples
    --------
    Two secrets, e^l = 3, and the smallest possible loss of the worse-off one:

    >>> import numpy as np
    >>> loss = Limit(np.array([[0.0, 1], [2, 0]]), np.array([0, 1]), np.zeros(2), relative=True)
    >>> program = ColumnProgram(np.zeros((2, 2)), [0, 1], [1, 0], np.log([3.0, 3.0]), limits=(loss,))
    >>> found = solve_worst_row(program, tolerance=1e-7)
    >>> round(found.value, 6), found.prices[0].round(5).tolist()
    (0.4, [0.4, 0.6])
    """
    begun = perf_counter()
    method = _WorstRow(program, _only_limit(program))
    ordered = np.sort(np.asarray(list(levels), dtype=np.float64))
    gaps, best = [np.inf], (np.inf, method.present())
    ended, iterations = Ending.STALLED, 0
    while iterations < _MOST_ITERATIONS and method.iterate():
        iterations += 1
        value, bound = method.standing()
        if value < best[0]:
            best = (value, method.present())
        gaps.append(method.relative(value, bound))
        settled = ordered.size and gaps[-1] < 1 and _between(ordered, bound * _SPARE, value) == 0
        if gaps[-1] <= tolerance or settled:
            ended = Ending.REACHED
            break
        if not min(gaps[-_PATIENCE:]) < 0.9 * min(gaps[:-_PATIENCE], default=np.inf):
            break
    method.close()
    bound = method.standing()[1]
    if not np.isfinite(best[0]):
        raise NotConverged(f"no step was possible after {iterations} iterations")
    gap = method.relative(best[0], bound)
    return ColumnSolution(best[1], method.multipliers(), best[0], bound, gap, iterations, perf_counter() - begun,
                          Ending.REACHED if gap <= tolerance else ended, (method.limit_prices(),))  # fmt: skip


def _between(ordered: Floats, low: float, high: float) -> int:
    """How many of some numbers in order lie in an interval."""
    return int(np.searchsorted(ordered, high * (1 + _ROUNDED)) - np.searchsorted(ordered, low))


def _only_limit(program: ColumnProgram) -> Limit:
    if len(program.limits) != 1 or program.cost.any():
        raise NotSupported("costs beside a limit, or several limits", ["one relative limit and no cost"])
    limit = program.limits[0]
    same = np.array_equal(limit.group, program.row_classes)
    least = np.full(len(program.sizes), np.inf)
    np.minimum.at(least, program.row_classes, limit.table.min(axis=1))
    if not limit.relative or not same or limit.level.any() or least.any():
        raise NotSupported("this limit", ["a relative one for each class of rows, level 0, smallest entries 0"])
    return limit


@dataclass(frozen=True, eq=False)
class _Links:
    """The factor of A, B, the factor of S = D + w/u − BᵀA⁻¹B, and S⁻¹1."""

    factor: Floats
    b: Floats
    rest: Floats
    ones: Floats


class _WorstRow(LanesIterate):
    """The iterate of one run: beside R, Z and p the prices u of the limits, τ and the slacks w."""

    def __init__(self, program: ColumnProgram, limit: Limit) -> None:
        groups = len(limit.level)
        plain = ColumnProgram(limit.table / groups, program.first, program.second, program.logs, program.classes)
        super().__init__(plain)
        blocks = len(self.mask)
        if not isinstance(self.systems, DenseSystems) or self.systems.grouped:
            self.systems = DenseSystems(self.n, blocks, self.classes, len(self.workers), grouped=False)
        self.table = self._in_lanes(limit.table[self.rows])
        self.groups_back = np.empty(groups, dtype=np.int64)  # number of a class in the program → here
        self.groups_back[limit.group[self.rows]] = self.classes
        self.stake = float(self.m)  # a limit counts as much as a row of entries
        self.total += self.stake * groups
        sums = self._sums(self.r)[1]
        self.tau = float(sums.max()) * (1 + _FIRST_SLACK)
        self.w = self.tau - sums
        self.u = 1.0 / self.w
        self.mass = 1.0 / self.scale
        self.u *= self.mass / self.u.sum()
        self._reprice(1.0 / self.total)
        self.du, self.dw, self.dtau, self.tu = np.zeros(groups), np.zeros(groups), 0.0, np.zeros(groups)
        self.inverses = registers(3, self.n, self.n, LANES)

    def _reprice(self, mu: float) -> None:
        """Costs from the prices of limits; prices of rows and λ > 0 to match."""
        self._set_cost()
        reduced = self.cost - self.pull
        least = np.where(self.mask[:, None, :] > 0, reduced, np.inf).min(axis=(0, 2)) - mu * self.m * self.share
        self.price = np.full(len(self.sizes), np.inf)
        np.minimum.at(self.price, self.classes, least)
        self.lam[:] = reduced - self._over_rows(self.price)[None, :, None]

    def _set_cost(self) -> None:
        np.multiply(self.u[self.classes][None, :, None], self.table, out=self.cost)

    def _sums(self, columns: Floats, others: Floats | None = None) -> tuple[Floats, Floats]:
        """Σ R and Σ T∘R over each class, of one array or of the sum of two."""
        found = _both_sums(columns, columns if others is None else others, others is not None, self.table, self.mask)
        return self._over_classes(found[0]), self._over_classes(found[1])

    def limit_prices(self) -> Floats:
        """u in the numbering of the program, summing to 1."""
        return np.asarray((self.u / self.u.sum())[self.groups_back])

    def standing(self) -> tuple[float, float]:
        """τ of the present columns if their rows summed to 1, and the bound."""
        reduced = self.cost - self.pull
        reduced[-1, :, self.mask[-1] == 0] = np.inf
        least = np.full(len(self.sizes), np.inf)
        np.minimum.at(least, self.classes, reduced.min(axis=(0, 2)))
        rows, limits = self._sums(self.r)
        value = float((limits * self.sizes / rows).max())
        return value, float(self.sizes @ least) / float(self.u.sum())

    def relative(self, value: float, bound: float) -> float:
        """The gap relative to the value: chances of missing are asked for however small they are."""
        return (value - bound) / max(value, _SMALLEST_VALUE)

    def iterate(self) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless."""
        self._weigh_columns()
        links = self._links()
        missing = self.sizes - self._sums(self.r)[0]
        if links is None:
            return False
        self.dr[:], self.rest[:] = 0.0, 0.0
        self.du, self.dtau, self.tu = np.zeros_like(self.u), 0.0, np.zeros_like(self.u)
        self.q[:] = self._over_rows(self.price)[None, :, None] - self.cost
        dp = self._linked(links, missing, np.zeros(len(self.sizes)))
        if dp is None:
            return False
        barrier, mu = self._centring()
        self._aim(barrier, mu)
        ratio = self.dw / self.w
        term = self.u * self.w * ratio * (1 + ratio)
        least, most = (self.stake * mu * limit for limit in _SECOND_ORDER)
        self.tu = self.stake * barrier + np.clip(term, least, most)
        dp = self._linked(links, missing, dp)
        if dp is None:
            return False
        steps = self._steps(self.t, self.tr)
        for _ in range(_CORRECTORS):
            tried = self._longer(links, missing, dp, steps, barrier)
            if tried is None:
                break
            dp, steps = tried
        primal, dual = (min(1.0, _STEP * step) for step in steps)
        self._on_blocks(lambda worker, low, high: newton.advance(
            low, high, self.first, self.second, self.decay, self.r, self.dr, self.rest, self.lam, self.z, self.t,
            self.tr, primal, dual, self.t_new, self.pull_before))  # fmt: skip
        self._take_multipliers()
        self.price = self.price + dual * dp
        self.u, self.w, self.tau = self.u + dual * self.du, self.w + primal * self.dw, self.tau + primal * self.dtau
        self._set_cost()
        return True

    def _links(self) -> _Links | None:
        """The matrices of the links; None where rounding errors have made one of them indefinite."""
        self._factor_systems()
        assert isinstance(self.systems, DenseSystems)
        _multiply_out(self.systems.roots, self.table, self.inverses)
        factor, b, rest, ones, definite = _linking(self.inverses, self.classes, self.w / self.u)
        return _Links(factor, b, rest, ones) if definite else None

    def _linked(self, links: _Links, missing: Floats, dp: Floats) -> Floats | None:
        """Correct the direction by the residual in q, and dp, du, dτ so that rows and limits come out right."""
        before = self.du
        self._subtract_costs(before)
        dp = self._corrected(links, missing, dp, self._applied(dp))
        self._subtract_costs(self.du - before)
        self._extend(dp)
        rows, limits = self._sums(self.dr)
        if np.abs((missing - rows) / self.sizes).max() > _IMBALANCE:
            before = self.du
            after = self._corrected(links, missing, dp, None)
            self.q[:] = 0.0
            self._subtract_costs(self.du - before)
            self._extend(after - dp)
            dp, (rows, limits) = after, self._sums(self.dr)
        self.dw = self.dtau - limits
        return dp if np.isfinite(rows.sum() + self.dw.sum() + self.du.sum() + dp.sum()) else None

    def _subtract_costs(self, du: Floats) -> None:
        """q − T du."""
        _subtract(self.q, self.table, self._over_rows(du))

    def _applied(self, dp: Floats) -> Floats:
        """H⁻¹(q + dp) for every column."""
        shift = self._over_rows(dp)

        def work(worker: Worker, low: int, high: int) -> None:
            worker.sums[:] = 0.0
            self.systems.apply(worker.thread, low, high, self.r, self.mask, self.q, shift, self.out, worker.sums)

        self._on_blocks(work)
        return self.out

    def _extend(self, dp: Floats) -> None:
        """dr + H⁻¹(q + dp), with the rounding error of the sum kept."""
        out = self._applied(dp)
        self._on_blocks(lambda worker, low, high: newton.extend(low, high, out, self.dr, self.rest, worker.sums))

    def _corrected(self, links: _Links, missing: Floats, dp: Floats, out: Floats | None) -> Floats:
        """dp, du and dτ such that dr + out, changed with them, gives rows and limits what they lack."""
        change, self.du, self.dtau = _correction(
            self.dr, self.dr if out is None else out, out is not None, self.table, self.mask, self.classes, missing,
            self.tu, self.u, self.w, self.du, self.dtau, links.factor, links.b, links.rest, links.ones,
        )  # fmt: skip
        return np.asarray(dp + change)

    def _centring(self) -> tuple[float, float]:
        """The product to aim at and the average one, from how far the predictor can go (Mehrotra's rule)."""

        def work(worker: Worker, low: int, high: int) -> None:
            worker.stats[:] = 0.0
            newton.measure_predictor(low, high, self.first, self.second, self.decay, self.r, self.dr, self.lam, self.z,
                                     self.mask, worker.stats)  # fmt: skip

        self._on_blocks(work)
        primal, dual = (min(1.0, step) for step in self._longest())
        ratio, product = self.dw / self.w, self.u * self.w
        more = (product.sum(), (product * ratio).sum(), (product * ratio * ratio).sum())
        sums = sum(worker.stats[2:].sum(axis=1) for worker in self.workers)
        s0, s1, s2 = (float(part + extra) for part, extra in zip(sums, more, strict=True))
        after = s0 * (1 - dual) + s1 * (primal * (1 - dual) - dual) - s2 * primal * dual
        mu = s0 / self.total
        return min(_CENTRING, max(after / s0, 0.0) ** 3) * mu, mu

    def _longest(self) -> tuple[float, float]:
        """Steps to the boundary, the limits' included."""
        down, up = np.max([worker.stats[:2].max(axis=1) for worker in self.workers], axis=0)
        primal, dual = max(down, -(self.dw / self.w).min()), max(up, -(self.du / self.u).min())
        return 1.0 / max(float(primal), 0.1), 1.0 / max(float(dual), 0.1)  # ten times a full step is as good as any

    def _longer(
        self, links: _Links, missing: Floats, dp: Floats, steps: tuple[float, float], barrier: float
    ) -> tuple[Floats, tuple[float, float]] | None:
        """A corrected direction with longer steps; None, and the old direction restored, if there is none."""
        full = [min(1.0, step) for step in steps]
        if min(full) > 0.95:
            return None
        primal, dual = (min(1.0, step + _LONGER) for step in full)
        least, most = (barrier * limit for limit in _BOX)
        self.kept[0][:], self.kept[1][:] = self.dr, self.rest
        kept = self.du, self.dw, self.dtau, self.tu
        prices = self._over_rows(self.price)
        self._on_blocks(lambda worker, low, high: newton.recentre(
            low, high, self.first, self.second, self.decay, self.weight, self.share, self.heft, self.r, self.dr,
            self.rest, self.lam, self.z, self.t, self.tr, self.cost, prices, primal, dual, least, most, self.t_new,
            self.tr_new, self.q))  # fmt: skip
        product = (self.w + primal * self.dw) * (self.u + dual * self.du)
        moved = np.maximum(np.clip(product, self.stake * least, self.stake * most) - product, -self.stake * most)
        self.tu = self.tu + moved
        found = self._linked(links, missing, dp)
        longer = self._steps(self.t_new, self.tr_new) if found is not None else steps
        if found is None or sum(min(1.0, step) for step in longer) <= sum(full):
            self.dr, self.rest, self.kept = *self.kept, [self.dr, self.rest]
            self.du, self.dw, self.dtau, self.tu = kept
            return None
        self.t, self.t_new = self.t_new, self.t
        self.tr, self.tr_new = self.tr_new, self.tr
        return found, longer


@njit(cache=True, nogil=True)
def _both_sums(columns, others, both, table, mask):  # type: ignore[no-untyped-def]
    """For each row Σ r and Σ t·r over the columns that are not masked."""
    blocks, n, lanes = columns.shape
    sums = np.zeros((2, n))
    for b in range(blocks):
        for x in range(n):
            for lane in range(lanes):
                entry = columns[b, x, lane] + (others[b, x, lane] if both else 0.0)
                entry *= mask[b, lane]
                sums[0, x] += entry
                sums[1, x] += entry * table[b, x, lane]
    return sums


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _factorise(matrix):  # type: ignore[no-untyped-def]
    """The Cholesky factor below the diagonal, in place; False if there is none."""
    n = len(matrix)
    for i in range(n):
        for j in range(i + 1):
            found = matrix[i, j]
            for k in range(j):
                found -= matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = found / matrix[j, j]
            elif found > 0.0:
                matrix[i, i] = np.sqrt(found)
            else:
                return False
    return True


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _solved(factor, right):  # type: ignore[no-untyped-def]
    """The solution of L Lᵀ x = right, for L the lower triangle of ``factor``."""
    n = len(right)
    found = right.copy()
    for i in range(n):
        rest = found[i]
        for k in range(i):
            rest -= factor[i, k] * found[k]
        found[i] = rest / factor[i, i]
    for i in range(n - 1, -1, -1):
        found[i] /= factor[i, i]
        for k in range(i):
            found[k] -= factor[i, k] * found[i]
    return found


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _linking(inverses, classes, quotients):  # type: ignore[no-untyped-def]
    """The factor of A, B, the factor of S = D + w/u − YᵀY with Y = L⁻¹B and A = L Lᵀ, S⁻¹1, and whether all exist."""
    n, count = len(classes), len(quotients)
    a, b, d = np.zeros((count, count)), np.zeros((count, count)), np.zeros((count, count))
    for x in range(n):
        for z in range(n):
            for lane in range(inverses.shape[3]):
                a[classes[x], classes[z]] += inverses[0, x, z, lane]
                b[classes[x], classes[z]] += inverses[1, x, z, lane]
                d[classes[x], classes[z]] += inverses[2, x, z, lane]
    for g in range(count):
        a[g, g] *= 1.0 + _SHIFT
        d[g, g] += quotients[g] + _SHIFT * d[g, g]
    ones = np.ones(count)
    if not _factorise(a):
        return a, b, d, ones, False
    y = b.T.copy()  # one row a limit
    for g in range(count):
        for i in range(count):
            found = y[g, i]
            for k in range(i):
                found -= a[i, k] * y[g, k]
            y[g, i] = found / a[i, i]
    for g in range(count):
        for h in range(g + 1):
            found = d[g, h]
            for k in range(count):
                found -= y[g, k] * y[h, k]
            d[g, h] = found
    if not _factorise(d):
        return a, b, d, ones, False
    return a, b, d, _solved(d, ones), True


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _correction(  # type: ignore[no-untyped-def]
    dr, out, both, table, mask, classes, missing, tu, u, w, du, dtau, factor, b, rest, ones
):
    """What dp has to change by, and the new du and dτ: rows lack ``missing``, limits what their targets ask for."""
    count = len(u)
    sums = _both_sums(dr, out, both, table, mask)
    lack, wrong = missing.copy(), np.empty(count)
    for g in range(count):
        wrong[g] = (tu[g] - w[g] * du[g]) / u[g] - w[g] - dtau
    for x in range(len(classes)):
        lack[classes[x]] -= sums[0, x]
        wrong[classes[x]] += sums[1, x]
    priced = _solved(factor, lack)
    for i in range(count):
        for g in range(count):
            wrong[g] += b[i, g] * priced[i]
    change = _solved(rest, wrong)
    more = (change.sum() + du.sum()) / ones.sum()
    change -= more * ones
    for i in range(count):
        for g in range(count):
            lack[i] += b[i, g] * change[g]
    return _solved(factor, lack), du + change, dtau + more


@njit(cache=True, nogil=True)
def _subtract(q, table, prices):  # type: ignore[no-untyped-def]
    blocks, n, lanes = q.shape
    for b in range(blocks):
        for x in range(n):
            for lane in range(lanes):
                q[b, x, lane] -= prices[x] * table[b, x, lane]


@njit(cache=True, nogil=True)
def _multiply_out(roots, table, inverses):  # type: ignore[no-untyped-def]
    """Σ R_y, Σ R_y T_y and Σ T_y R_y T_y from the roots U_y of R_y = U_y U_yᵀ, one sum a lane."""
    blocks, n = table.shape[0], table.shape[1]
    square = n * n
    zero = spread(0.0)
    for k in range(3 * square):
        store(inverses, k, zero)
    starts = np.empty(n, np.int64)
    at = 0
    for i in range(n):
        starts[i] = at - i  # of entry (i, 0), were there one
        at += n - i
    for b in range(blocks):
        base = b * (n * (n + 1) // 2)
        for i in range(n):
            here, mine = base + starts[i], load(table, b * n + i)
            for j in range(i, n):
                there, other = base + starts[j], load(table, b * n + j)
                even, odd = zero, zero
                for k in range(j, n - 1, 2):
                    even = even + load(roots, here + k) * load(roots, there + k)
                    odd = odd + load(roots, here + k + 1) * load(roots, there + k + 1)
                if (n - j) % 2:
                    even = even + load(roots, here + n - 1) * load(roots, there + n - 1)
                entry = even + odd
                upper, lower = i * n + j, j * n + i
                store(inverses, upper, load(inverses, upper) + entry)
                store(inverses, square + upper, load(inverses, square + upper) + entry * other)
                both = 2 * square + upper
                store(inverses, both, load(inverses, both) + mine * entry * other)
                if i != j:
                    store(inverses, square + lower, load(inverses, square + lower) + entry * mine)
    for i in range(n):
        for j in range(i):
            store(inverses, i * n + j, load(inverses, j * n + i))
            store(inverses, 2 * square + i * n + j, load(inverses, 2 * square + j * n + i))
