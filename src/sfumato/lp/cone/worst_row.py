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

import numpy as np
from numba import njit

from sfumato.errors import NotConverged, NotSupported
from sfumato.lp.cone.cholesky import factor, factor_solved, forward
from sfumato.lp.cone.lanes_dense import DenseSystems
from sfumato.lp.cone.lanes_iterate import LanesIterate
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.products import aimed, moved_targets, predicted
from sfumato.lp.cone.program import ColumnProgram, ColumnSolution, Ending, Limit, least_of_classes, relative_gap
from sfumato.lp.cone.registers import LANES, load, registers, spread, store_lanes
from sfumato.lp.cone.run import Run
from sfumato.numbers import Floats
from sfumato.watch import Watch

_MOST_ITERATIONS = 200
_TUNING = Tuning(centring=0.2, correctors=3)
_FIRST_SLACK = 0.1  # The slack of the largest sum at the start, relative to it.
_SPARE = 0.97  # The part of a bound that must still be above a level.
_ROUNDED = 1e-6  # By so much, relatively, a value may grow when it is rounded to integers.
_SMALLEST_VALUE = 1e-15  # Below this value rounding errors of rows that sum to 1 are all that is left.
# What is added to diagonals, relatively, where the matrices of the links have lost their definiteness.
_SHIFT = 2.0**-50


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
    >>> solution = solve_worst_row(program, tolerance=1e-7)
    >>> round(solution.value, 6), solution.prices[0].round(5).tolist()
    (0.4, [0.4, 0.6])
    """
    method = _WorstRowIterate(program, _only_limit(program))
    run = Run(Watch(), _MOST_ITERATIONS)
    ordered, best = np.sort(np.asarray(list(levels), dtype=np.float64)), np.inf

    def judged() -> tuple[float, Ending | None]:
        nonlocal best
        value, bound = method.standing()
        if value < best:
            best = value
            method.remember()
        gap = method.relative(value, bound)
        first, behind = np.searchsorted(ordered, [bound * _SPARE, value * (1 + _ROUNDED)])
        settled = ordered.size and gap < 1 and first == behind
        return gap, Ending.REACHED if gap <= tolerance or settled else None

    ended = run.until(method.iterate, judged)
    method.close()
    bound = method.standing()[1]
    if not np.isfinite(best):
        raise NotConverged(f"no step was possible after {run.iterations} iterations")
    gap = method.relative(best, bound)
    return ColumnSolution(method.matrix(), method.multipliers(), best, bound, gap, run.iterations, run.seconds,
                          Ending.REACHED if gap <= tolerance else ended, (method.limit_prices(),))  # fmt: skip


def _only_limit(program: ColumnProgram) -> Limit:
    if len(program.limits) != 1 or program.cost.any():
        raise NotSupported("costs beside a limit, or several limits", ["one relative limit and no cost"])
    limit = program.limits[0]
    same = np.array_equal(limit.group, program.row_classes)
    least = least_of_classes(limit.table.min(axis=1), program.row_classes)
    if not limit.relative or not same or limit.level.any() or least.any():
        raise NotSupported("this limit", ["a relative one for each class of rows, level 0, smallest entries 0"])
    return limit


class _WorstRowIterate(LanesIterate):
    """The iterate of one run: beside R, Z and p the prices u of the limits, τ and the slacks w."""

    def __init__(self, program: ColumnProgram, limit: Limit) -> None:
        groups = len(limit.level)
        plain = ColumnProgram(limit.table / groups, program.first, program.second, program.logs, program.classes)
        super().__init__(plain)
        if not isinstance(self.systems, DenseSystems) or self.systems.single or self.systems.grouped:
            self.systems = DenseSystems(self.n, len(self.mask), self.classes, len(self.workers), grouped=False)
            self.doubles = self.systems
        self.table = self._in_lanes(limit.table[self.rows])
        self.groups_back = np.empty(groups, dtype=np.int64)  # number of a class in the program → here
        self.groups_back[limit.group[self.rows]] = self.classes
        self.limit_weight = np.full(groups, float(self.m))  # a limit counts as much as a row of entries
        self.weight += float(self.limit_weight.sum())
        sums = self._sums(self.r)[1]
        self.tau = float(sums.max()) * (1 + _FIRST_SLACK)
        self.w = self.tau - sums
        self.u = 1.0 / self.w
        self.u *= 1.0 / self.scale / self.u.sum()
        self._set_cost()
        self._reprice(1.0 / self.weight)
        self.inverses = registers(3, self.n, self.n, LANES)

    def _set_cost(self) -> None:
        np.multiply(self.u[self.classes][None, :, None], self.table, out=self.cost)

    def _sums(self, columns: Floats) -> tuple[Floats, Floats]:
        """Σ R and Σ T∘R over each class."""
        sums = _both_sums(columns, columns, False, self.table, self.mask)
        return self._over_classes(sums[0]), self._over_classes(sums[1])

    def limit_prices(self) -> Floats:
        """u in the numbering of the program, summing to 1."""
        return np.asarray((self.u / self.u.sum())[self.groups_back])

    def standing(self) -> tuple[float, float]:
        """τ of the present columns if their rows summed to 1, and the bound."""
        rows, limits = self._sums(self.r)
        return float((limits * self.sizes / rows).max()), self._bound() / float(self.u.sum())

    def relative(self, value: float, bound: float) -> float:
        """The gap relative to the value: chances of missing are asked for however small they are."""
        return relative_gap(value, bound, _SMALLEST_VALUE)

    def iterate(self) -> bool:
        return step(self, _TUNING) > 0

    def _factor_links(self) -> bool:
        """The matrices of the links; False where rounding errors have made one of them indefinite."""
        assert isinstance(self.systems, DenseSystems)
        _multiply_out(self.systems.roots, self.table, self.inverses)
        *self.links, definite = _linking(self.inverses, self.classes, self.w / self.u)
        return bool(definite)

    def predict(self) -> bool:
        self.du, self.dtau, self.tu = np.zeros_like(self.u), 0.0, np.zeros_like(self.u)
        return super().predict()

    def _direct(self) -> bool:
        """Correct the direction by the residual in q, so that rows and limits come out right."""
        self._subtract_costs(self.du)
        return super()._direct() and bool(np.isfinite(self.dw.sum() + self.du.sum()))

    def _lacking(self) -> Floats:
        """What rows lack with the direction; the slacks of limits change by what it leaves."""
        rows, limits = self._sums(self.dr)
        self.dw = self.dtau - limits
        return self.missing - rows

    def _subtract_costs(self, du: Floats) -> None:
        """q − T du."""
        self.q -= self._over_rows(du)[None, :, None] * self.table

    def _correct_links(self, applied: bool) -> None:
        """Change dp, du and dτ by what rows and limits lack with dr, and with what was ``applied`` beside it."""
        before = self.du
        change, self.du, self.dtau = _correction(
            self.dr, self.out, applied, self.table, self.mask, self.classes, self.missing, self.tu, self.u, self.w,
            self.du, self.dtau, *self.links,
        )  # fmt: skip
        self.dp = self.dp + change
        self._subtract_costs(self.du - before)

    def predicted(self) -> Predicted:
        """Measure the direction of the predictor, limits included."""
        columns, more = super().predicted(), predicted(np, self.w, self.dw, self.u)
        limits = Predicted.from_ratios(*more.tolist())
        steps = Steps(*(min(both) for both in zip(columns.steps, limits.steps, strict=True)))
        return Predicted(steps, *(one + other for one, other in zip(columns[1:], limits[1:], strict=True)))

    def aim(self, target: float, least: float, most: float) -> bool:
        self.tu = aimed(self.w, self.dw, self.u, self.limit_weight, target, least, most)
        return super().aim(target, least, most)

    def _steps(self, t: Floats) -> Steps:
        """Steps to the boundary, the limits' included."""
        limits = longest(float((-self.dw / self.w).max()), float((-self.du / self.u).max()))
        return Steps(*(min(both) for both in zip(super()._steps(t), limits, strict=True)))

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        before = self.du, self.dw, self.dtau, self.tu
        self.tu = moved_targets(self.w, self.dw, self.dw, self.u, self.tu, self.limit_weight, *longer, least, most)
        corrected = super().recentre(steps, longer, least, most)
        if corrected is None:
            self.du, self.dw, self.dtau, self.tu = before
        return corrected

    def advance(self, primal: float, dual: float) -> None:
        super().advance(primal, dual)
        self.u, self.w, self.tau = self.u + dual * self.du, self.w + primal * self.dw, self.tau + primal * self.dtau
        self._set_cost()


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
    ones, nothing = np.ones(count), np.zeros(count)
    lost = factor(a, nothing, True)
    y = b.T.copy()  # one row a limit
    for g in range(count):
        forward(a, y[g])
    for g in range(count):
        for h in range(g + 1):
            rest = d[g, h]
            for k in range(count):
                rest -= y[g, k] * y[h, k]
            d[g, h] = rest
    lost += factor(d, nothing, True)
    return a, b, d, factor_solved(d, ones), lost == 0


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _correction(  # type: ignore[no-untyped-def]
    dr, out, both, table, mask, classes, missing, tu, u, w, du, dtau, root, b, rest, ones
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
    priced = factor_solved(root, lack)
    for i in range(count):
        for g in range(count):
            wrong[g] += b[i, g] * priced[i]
    change = factor_solved(rest, wrong)
    more = (change.sum() + du.sum()) / ones.sum()
    change -= more * ones
    for i in range(count):
        for g in range(count):
            lack[i] += b[i, g] * change[g]
    return factor_solved(root, lack), du + change, dtau + more


@njit(cache=True, nogil=True)
def _multiply_out(roots, table, inverses):  # type: ignore[no-untyped-def]
    """Σ R_y, Σ R_y T_y and Σ T_y R_y T_y from the roots U_y of R_y = U_y U_yᵀ, one sum a lane."""
    blocks, n = table.shape[0], table.shape[1]
    square = n * n
    zero = spread(0.0)
    for k in range(3 * square):
        store_lanes(inverses, k, zero)
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
                store_lanes(inverses, upper, load(inverses, upper) + entry)
                store_lanes(inverses, square + upper, load(inverses, square + upper) + entry * other)
                both = 2 * square + upper
                store_lanes(inverses, both, load(inverses, both) + mine * entry * other)
                if i != j:
                    store_lanes(inverses, square + lower, load(inverses, square + lower) + entry * mine)
    for i in range(n):
        for j in range(i):
            store_lanes(inverses, i * n + j, load(inverses, j * n + i))
            store_lanes(inverses, 2 * square + i * n + j, load(inverses, 2 * square + j * n + i))
