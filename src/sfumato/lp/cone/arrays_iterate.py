"""The iterate of :mod:`sfumato.lp.cone.arrays`: whole arrays on any device, with limits, for the one loop.

Limits are links with a slack v and a price u more; they need not hold at the start, since a full step makes them hold.

A corrector is taken in the share that gives the longest step, on the primal and on the dual side apart: with a few
correctors this halves the number of iterations where few of very many products are in the way.

Over pairs and columns only the multipliers z and targets for their products are kept, the latter in single precision
where memory is short: a target is a choice, not a measurement. Slacks are computed anew each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.arrays_band import cone_for
from sfumato.lp.cone.arrays_links import Links, Part, device_parts, normalised_prices
from sfumato.lp.cone.arrays_pairs import Cone
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.products import aimed, dual_stepped, moved_targets, pair_weights, predicted, reach, row_weights
from sfumato.lp.cone.program import SMALLER_PROBLEMS, ColumnProgram, least_of_classes
from sfumato.memory import check_memory
from sfumato.numbers import Floats
from sfumato.watch import Watch

# A corrector costs passes over pairs, a factorisation n times as much: large n can afford more of them.
_ROWS_A_CORRECTOR, _MOST_CORRECTORS = 50, 8
_SHARES = (1.0, 0.7, 0.4, 0.2, 0.1)  # Shares of a corrector, from which the best is chosen, for each side on its own.
_GAIN = 0.003  # By so much the length of a step must grow, or a corrector is not worth it.
_FIRST_SLACK = 0.1  # The slack of limits that do not hold at the start, in units of what is at stake.
# What the links lack is refined at most so often, and left once it is small beside the sums of classes, at least 1.
_REFINEMENTS, _BALANCED = 3, 1e-12
_DOUBLE_TARGETS = True  # Whether targets are in double precision where there is memory for them.
_SMALLEST_COLUMN = 1e-4  # The least weight of a column, relative to the largest.
_HALVINGS = 6  # Halvings before a step is given up.


@dataclass(frozen=True, eq=False)
class KeptMultipliers:
    """Multipliers and prices of limits in the scale of the program, and the bound they give."""

    bound: float
    multipliers: Floats
    prices: Floats


class ArraysIterate:
    """The iterate and the arrays of one run, in the units of :class:`~sfumato.lp.cone.arrays_links.Links`."""

    def __init__(self, program: ColumnProgram, links: Links, arrays: Arrays, watch: Watch | None = None) -> None:
        self.watch, self.pairs = watch or Watch(), len(program.first)
        self.arrays, self.links, self.xp = arrays, links, arrays.module
        self.m = program.shape[1]
        self.parts: list[Part] = device_parts(program, links, arrays)
        self.cost = arrays.given(links.cost)
        self.target = arrays.given(links.target)
        self.relative = arrays.given(links.relative)
        self.limited = len(links.relative) > 0
        prices, slacks, effective = self._first_prices(program)
        share, weight = _weights(effective, program)
        columns = _column_weights(effective, program)
        self.columns = arrays.given(columns)
        self.row_weight = arrays.given(share * columns[:, None])
        self.cone: Cone = cone_for(program, weight, arrays)
        self.limit_weight = float(columns.sum())  # as much as a row of entries
        self.weight = self.limit_weight * (float(share.sum() + weight.sum()) + len(links.relative))
        correctors = int(np.clip(program.shape[0] // _ROWS_A_CORRECTOR, 1, _MOST_CORRECTORS))
        self.tuning, self.late = Tuning(correctors=correctors), False
        self._check_memory(program)
        self._start(program, share, weight, prices, slacks, effective)

    def _check_memory(self, program: ColumnProgram) -> None:
        n, cone = program.shape[0], self.cone
        pairs = int(np.prod(cone.shape))
        step = max(1, min(self.m, self.arrays.chunk // max(cone.bytes_used, 1)))
        needed = self.m * (16 * pairs + cone.bytes_kept + 8 * n * (16 + len(self.parts))) + 6 * step * cone.bytes_used
        self.single = not _DOUBLE_TARGETS or needed + 8 * self.m * pairs > self.arrays.memory
        what = f"the block method over arrays for {self.pairs} pairs of rows in {self.m} columns"
        check_memory(needed, what, SMALLER_PROBLEMS, self.arrays.memory)
        self.chunks = [(low, min(low + step, self.m)) for low in range(0, self.m, step)]

    def _first_prices(self, program: ColumnProgram) -> tuple[Floats, Floats, Floats]:
        """Prices and slacks of limits at constant columns, and the costs with those prices (m × n)."""
        links = self.links
        constant = self.arrays.zeros(*self.cost.shape) + 1.0 / self.m
        sums = self.arrays.numpy(self._sums(constant, 0, self.m))[links.rows :]
        excess = sums - links.target[links.rows :]
        chosen = links.relative > 0
        self.tau = float(excess[chosen].max() + _FIRST_SLACK) if chosen.any() else 0.0
        slacks = np.maximum(self.tau * links.relative - excess, _FIRST_SLACK)
        # a small part of what is at stake for any other limit, whatever its slack
        prices = np.where(chosen, 1.0 / max(chosen.sum(), 1), 0.1 / max(len(chosen), 1) / slacks)
        pi = np.concatenate([np.zeros(links.rows), -prices])
        effective = self.cost - self._spread(self.arrays.given(pi), 0, self.m)
        return prices, slacks, self.arrays.numpy(effective)

    def _start(
        self, program: ColumnProgram, share: Floats, weight: Floats, prices: Floats, slacks: Floats, effective: Floats
    ) -> None:
        """R constant, which is strictly inside every cone, and multipliers that make it nearly central."""
        arrays, m, (n, _) = self.arrays, self.m, program.shape
        first, second, kept = program.first, program.second, weight > 0
        mu = self.limit_weight / m / self.weight
        z = mu * m * weight / -np.expm1(-program.logs)
        adjoint = np.bincount(second, z, n) - np.bincount(first, np.exp(-program.logs) * z * kept, n)
        margin = mu * m * share
        least = least_of_classes(effective.min(axis=0) - adjoint - margin, program.row_classes)
        self.r = arrays.zeros(m, n) + 1.0 / m
        self.adjoint = arrays.zeros(m, n) + arrays.given(adjoint)
        self.lam = arrays.given(effective - adjoint - least[program.row_classes])
        self.pi = arrays.given(np.concatenate([least, -prices]))
        self.v = arrays.given(slacks)
        self.z = arrays.empty(m, *self.cone.shape)
        self.z[:] = self.cone.laid_out(z)
        self.t, self.t_new = (arrays.empty(m, *self.cone.shape, single=self.single) for _ in range(2))
        self.tr, self.tu = self.r, self.v
        self.dr, self.dv, self.du = arrays.zeros(m, n), self.v * 0, self.v * 0
        self.ahead: tuple[Any, ...] = self.dr, self.dv, 0.0  # the primal side's own steps of r, v and τ
        self.q = arrays.zeros(m, n)
        self.dpi, self.dtau = self.pi * 0, 0.0
        self.factors: list[Any] = []
        self.spoilt = False
        self.bound = self.bound_of(self.adjoint, self.limit_prices())
        self.kept: KeptMultipliers | None = None  # the best, where the present ones are not

    @property
    def u(self) -> Any:
        """Prices of limits."""
        return -self.pi[self.links.rows :]

    def _sums(self, values: Any, low: int, high: int) -> Any:
        """Σ_y B_yᵀ values_y over the columns low … high."""
        sums = [
            part.summed((values if part.table is None else part.table[low:high] * values).sum(0)) for part in self.parts
        ]
        return sums[0] if len(sums) == 1 else self.xp.concatenate(sums)

    def _spread(self, pi: Any, low: int, high: int) -> Any:
        """B_y π for the columns low … high, c × n."""
        result, at = 0.0, 0
        for part in self.parts:
            mine = self.xp.concatenate([pi[at : at + part.count], pi[:1] * 0])[part.labels]
            result = result + (mine if part.table is None else mine * part.table[low:high])
            at += part.count
        return result

    def _chunks_in_time(self) -> Iterator[tuple[int, int]]:
        """The chunks of columns, for passes that do not change the iterate: not to the end where the time is up."""
        for chunk in self.chunks:
            self.watch.check()
            yield chunk

    def _all_sums(self, values: Any) -> Any:
        return sum(self._sums(values[low:high], low, high) for low, high in self.chunks)

    def _iterate_of(self, low: int, high: int) -> tuple[Any, Any, Any]:
        """r, its step and z of the columns low … high."""
        return self.r[low:high], self.dr[low:high], self.z[low:high]

    @property
    def highest(self) -> float:
        """The largest bound so far."""
        return self.bound if self.kept is None else max(self.bound, self.kept.bound)

    def multipliers(self) -> Floats:
        """Z of the present iterate, in the order and scale of the program."""
        pairs = self.pairs
        result = np.zeros((self.m, pairs)) if len(self.cone.kept) < pairs else np.empty((self.m, pairs))
        for low, high in self.chunks:
            listed = self.cone.listed(self.z[low:high]) * self.links.scale
            if len(self.cone.kept) < pairs:
                result[low:high, self.cone.kept] = self.arrays.numpy(listed)
            else:
                self.arrays.copy(listed, result[low:high])
        return result.T

    def limit_prices(self) -> Floats:
        """Prices of limits of the present iterate in the scale of the program, with sum 1 over relative ones."""
        links = self.links
        units = np.where(links.relative > 0, 1.0, links.scale / links.units)
        return normalised_prices(self.arrays.numpy(self.u) * units, links.relative)

    def bound_of(self, adjoint: Any, prices: Floats) -> float:
        """The lower bound that multipliers with this Gᵀz and prices of limits give, in the program's units."""
        links = self.links
        inner = prices / np.where(links.relative > 0, 1.0, links.scale / links.units)
        pi = self.arrays.given(np.concatenate([np.zeros(links.rows), -inner]))
        least = np.full(links.rows, np.inf)
        for low, high in self.chunks:
            reduced = self.cost[low:high] - adjoint[low:high] - self._spread(pi, low, high)
            np.minimum.at(least, self.arrays.numpy(self.parts[0].labels), self.arrays.numpy(self.xp.amin(reduced, 0)))
        sizes = links.target[: links.rows]
        inside = float(sizes @ least) - float(inner @ links.target[links.rows :])
        return float(sizes @ links.floor) + links.scale * inside

    def value_of(self, r: Any) -> tuple[float, float]:
        """Value, and by how much limits that are not relative are exceeded at worst, in their units."""
        links = self.links
        cost = float(sum((self.cost[low:high] * r[low:high]).sum() for low, high in self.chunks))
        missed = 0.0
        if self.limited:
            over = self.arrays.numpy(self._all_sums(r))[links.rows :] - links.target[links.rows :]
            chosen = links.relative > 0
            cost += float(over[chosen].max()) if chosen.any() else 0.0
            units = np.maximum(1.0, np.abs(links.target[links.rows :]))
            missed = float((over / units)[~chosen].max(initial=0.0))
        return float(links.target[: links.rows] @ links.floor) + links.scale * cost, missed

    def refreshed_adjoint(self) -> Any:
        """Gᵀz from the multipliers themselves, after an interrupt that may have been anywhere."""
        return self.xp.concatenate([self.cone.adjoint(self.z[low:high]) for low, high in self.chunks])

    def iterate(self, late: bool) -> bool:
        """One step; False, and nothing changed, when rounding errors have made the direction useless.

        Where it is ``late``, multipliers that rounding has spoilt are not taken; then ``spoilt`` is set.
        """
        self.late = late
        with np.errstate(all="ignore"):  # a direction that is not finite is refused
            return step(self, self.tuning) > 0

    def factor(self) -> bool:
        """Factor every H_y and, scaled, the matrix of the links."""
        self.missing = self.target - self._all_sums(self.r)
        self.missing[self.links.rows :] += self.tau * self.relative
        self.factors = []
        link = self.arrays.zeros(len(self.pi), len(self.pi))
        for low, high in self._chunks_in_time():
            part = slice(low, high)
            factor = self.cone.factor(self.r[part], self.lam[part], self.adjoint[part], self.z[part])
            link += self.cone.gram(factor, self.r[part], self.parts, low, high)
            self.factors.append(factor)
        where = self.arrays.integers(np.arange(self.links.rows, len(self.pi)))
        link[where, where] += self.v / self.u
        self.link = self.arrays.scaled_root(link)
        return self.link[0] is not None

    def predict(self) -> bool:
        """Find the direction to the optimum itself, all targets zero."""
        self.dr, self.dpi, self.dtau, self.tu = self.dr * 0, self.pi * 0, 0.0, self.v * 0
        for low, high in self._chunks_in_time():
            self.q[low:high] = self._spread(self.pi, low, high) - self.cost[low:high]
        return self._direct()

    def _direct(self) -> bool:
        """Correct the direction by the residual in q so that links hold; False if it is not finite."""
        rows, base = self.links.rows, self.missing
        for (low, high), factor in zip(self._chunks_in_time(), self.factors, strict=True):
            self.dr[low:high] += self.cone.solve(factor, self.q[low:high] + self._spread(self.dpi, low, high))
        for _ in range(_REFINEMENTS):
            lack = base - self._all_sums(self.dr)
            if self.limited:
                lack[rows:] += self.relative * self.dtau - self.tu / self.u - self.v / self.u * self.dpi[rows:]
            more = self._link_solution(lack)
            for (low, high), factor in zip(self._chunks_in_time(), self.factors, strict=True):
                self.dr[low:high] += self.cone.solve(factor, self._spread(more, low, high) + self.q[low:high] * 0)
            self.dpi = self.dpi + more
            if not float(abs((base - self._all_sums(self.dr))[:rows]).max()) > _BALANCED:
                break
        if self.limited:
            self.dv = (base - self._all_sums(self.dr))[rows:] - self.v + self.relative * self.dtau
            self.du = -self.dpi[rows:]
        return bool(np.isfinite(float(self.dr.sum() + self.dpi.sum())))

    def _link_solution(self, lack: Any) -> Any:
        """Change of prices that gives the links what they lack, with that of τ which keeps relative prices at sum 1."""
        root, scale = self.link
        more = scale * self.arrays.solve(root, scale * lack)
        if self.links.relative.any():
            border = self.pi * 0
            border[self.links.rows :] = self.relative
            along = scale * self.arrays.solve(root, scale * border)
            wanted = 1.0 - (self.u - (self.dpi + more)[self.links.rows :]) @ self.relative
            dtau = float(-wanted / (along @ border))
            more = more + along * dtau
            self.dtau += dtau
        return more

    def predicted(self) -> Predicted:
        """Measure the direction of the predictor."""
        measures = [predicted(self.xp, self.r, self.dr, self.lam)]
        for low, high in self._chunks_in_time():
            if self.z.shape[1]:
                measures.append(self.cone.predicted(*self._iterate_of(low, high)))
        if self.limited:
            measures.append(predicted(self.xp, self.v, self.dv, self.u))
        table = self.arrays.numpy(self.xp.stack(measures))
        return Predicted.from_ratios(*table[:, :2].max(axis=0).tolist(), *table[:, 2:].sum(axis=0).tolist())

    def aim(self, target: float, least: float, most: float) -> bool:
        """Find the direction to products ``target`` less the second-order term."""
        self.tr = aimed(self.r, self.dr, self.lam, self.row_weight, target, least, most)
        for low, high in self._chunks_in_time():
            adjoint = self.cone.aim(
                *self._iterate_of(low, high), self.t[low:high], self.columns[low:high], target, least, most
            )
            self._set_residual(low, high, adjoint, self.tr)
        if self.limited:
            weight = self.v * 0 + self.limit_weight
            self.tu = aimed(self.v, self.dv, self.u, weight, target, least, most)
        return self._direct()

    def _set_residual(self, low: int, high: int, adjoint: Any, tr: Any) -> None:
        """What is left of Bπ − C + Gᵀ(z + dz) + λ + dλ when the products have their targets."""
        part = slice(low, high)
        self.q[part] = dual_stepped(self.r[part], self.dr[part], self.lam[part], tr[part]) + adjoint
        self.q[part] += self._spread(self.pi, low, high) - self.cost[part]

    def steps(self) -> Steps:
        """How far the direction may go to the boundary; from here on the primal side has one of its own."""
        self.ahead = self.dr + 0.0, self.dv, self.dtau
        nothing = self.dr * 0, self.v * 0, self.v * 0
        return self._reach(nothing, self.t, self.tr, (0.0,))[0]

    def _reach(self, more: tuple[Any, Any, Any], t: Any, tr: Any, shares: tuple[float, ...]) -> list[Steps]:
        """Primal and dual steps to the boundary, for each share of a correction of r, v and u to new targets."""
        dr, dv, du = more
        measures = [reach(self.xp, self.r, self.ahead[0], self.dr, dr, self.lam, self.tr, tr, shares)]
        for low, high in self._chunks_in_time() if self.z.shape[1] else ():
            r, z, old, aim = (array[low:high] for array in (self.r, self.z, self.t, t))
            primal, dual, change = (array[low:high] for array in (self.ahead[0], self.dr, dr))
            measures.append(self.cone.reach(r, primal, dual, change, z, old, aim, shares))
        if self.limited:
            u, ratios = self.u, []
            for share in shares:
                ratios += [(-(self.ahead[1] + share * dv) / self.v).max(), (-(self.du + share * du) / u).max()]
            measures.append(self.xp.stack(ratios))
        most = self.arrays.numpy(self.xp.stack(measures)).max(axis=0)
        return [longest(down, up) for down, up in most.reshape(-1, 2).tolist()]

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Correct the direction for longer steps; None, and it is what it was, where there are none.

        Any share of the correction keeps the links and the dual equations, so that each side takes what suits it.
        """
        limits: tuple[float, ...] = (*longer, least, most)
        old = self.dr + 0.0, self.dpi, self.dtau, self.dv, self.du
        tr = moved_targets(self.r, self.ahead[0], self.dr, self.lam, self.tr, self.row_weight, *limits)
        tu = self.tu
        for low, high in self._chunks_in_time():
            arrays = (self.r, self.ahead[0], self.dr, self.z, self.t, self.t_new, self.columns)
            adjoint = self.cone.move(*(array[low:high] for array in arrays), *limits)
            self._set_residual(low, high, adjoint, tr)
        if self.limited:
            weight = self.v * 0 + self.limit_weight
            tu = moved_targets(self.v, self.ahead[1], self.dv, self.u, self.tu, weight, *limits)
        kept, self.tu = self.tu, tu
        usable = self._direct()
        new = self.dr, self.dpi, self.dtau, self.dv, self.du
        self.tu = kept
        self.dr, self.dpi, self.dtau, self.dv, self.du = old
        if not usable:
            return None
        more = [after - before for after, before in zip(new, old, strict=True)]
        reached = self._reach((more[0], more[3], more[4]), self.t_new, tr, _SHARES)
        ahead, beside = (int(np.argmax(lengths)) for lengths in zip(*reached, strict=True))
        best = reached[ahead].primal, reached[beside].dual
        better = [min(1.0, after) > min(1.0, before) + _GAIN for after, before in zip(best, steps, strict=True)]
        if better[0]:
            self.ahead = tuple(
                before + _SHARES[ahead] * change
                for before, change in zip(self.ahead, (more[0], more[3], more[2]), strict=True)
            )
        if better[1]:
            self._accept(_SHARES[beside], old, more, tr, tu)
        if not any(better):
            return None
        return Steps(best[0] if better[0] else steps.primal, best[1] if better[1] else steps.dual)

    def _accept(self, share: float, old: Any, more: Any, tr: Any, tu: Any) -> None:
        """Go a share of the way to new targets, and to the direction they gave."""
        self.dr, self.dpi, self.dtau, self.dv, self.du = (
            before + share * change for before, change in zip(old, more, strict=True)
        )
        self.tr, self.tu = self.tr + share * (tr - self.tr), self.tu + share * (tu - self.tu)
        if share == 1.0:
            self.t, self.t_new = self.t_new, self.t
            return
        for low, high in self.chunks:
            self.t[low:high] += share * (self.t_new[low:high] - self.t[low:high])

    def advance(self, primal: float, dual: float) -> None:
        """Take the step; multipliers that rounding has made worse than the prices say are left where they are."""
        lam = (1.0 - dual) * self.lam + dual * dual_stepped(self.r, self.dr, self.lam, self.tr)
        pi = self.pi + dual * self.dpi
        r, primal = self._inside(primal)
        bound = self._bound_after(pi, dual)
        self.spoilt = self.late and self._spoils(bound, r, pi)
        if not self.spoilt:
            if bound < self.highest == self.bound:  # the step writes over the best multipliers
                self.kept = KeptMultipliers(self.bound, self.multipliers(), self.limit_prices())
            for low, high in self.chunks:
                self.adjoint[low:high] = self.cone.advance(*self._iterate_of(low, high), self.t[low:high], dual)
            self.lam, self.pi, self.bound = lam, pi, bound
        self.r, self.v, self.tau = r, self.v + primal * self.ahead[1], self.tau + primal * self.ahead[2]

    def _inside(self, primal: float) -> tuple[Any, float]:
        """r after the step, which is halved where rounding would put r on the boundary."""
        for _ in range(_HALVINGS):
            r = self.r + primal * self.ahead[0]
            if all(self.cone.is_inside(r[low:high]) for low, high in self.chunks):
                return r, primal
            primal /= 2
        return self.r, 0.0

    def _bound_after(self, pi: Any, dual: float) -> float:
        """The bound of the multipliers after a step."""
        adjoint = self.xp.concatenate([
            self.cone.advance(*self._iterate_of(low, high), self.t[low:high], dual, trial=True)
            for low, high in self.chunks
        ])  # fmt: skip
        before, self.pi = self.pi, pi
        bound = self.bound_of(adjoint, self.limit_prices())
        self.pi = before
        return bound

    def _spoils(self, bound: float, r: Any, pi: Any) -> bool:
        """Whether the bound of the next multipliers is worse than that of the last and than the sum of the prices,
        by as much as the gap.

        In exact arithmetic it is never worse than that sum: C − Gᵀz − Bπ = λ > 0.
        """
        value, links = self.value_of(r)[0], self.links
        stated = float(links.target[: links.rows] @ links.floor) + links.scale * float(pi @ self.target)
        return bound < self.bound and value - bound > 2 * (value - stated)


def _weights(effective: Floats, program: ColumnProgram) -> tuple[Floats, Floats]:
    """Weights of rows and of pairs; of pairs that are listed more than once only the tightest counts."""
    first, second, logs = program.first, program.second, program.logs
    least = least_of_classes(effective.min(axis=0), program.row_classes)
    share = row_weights(effective.mean(axis=0) - least[program.row_classes])
    nearest = np.full(len(share), np.inf)
    np.minimum.at(nearest, first, logs)
    weight = pair_weights(share[first], share[second], logs, nearest)
    order = np.lexsort((logs, first * len(share) + second))
    key = (first * len(share) + second)[order]
    weight[order[1:][key[1:] == key[:-1]]] = 0.0
    return share, weight


def _column_weights(effective: Floats, program: ColumnProgram) -> Floats:
    """How large the products of a column may be: those of columns that are good for few rows are kept small.

    A column counts by what it saves beside the average one, Σ_x c_x max(0, 1 − C_xy/c_x)⁸ with c_x the average of
    row x: the eighth power leaves the rows for which it is nearly the best. On priors with bumps a fifth of the
    iterations is saved.
    """
    cost = effective - least_of_classes(effective.min(axis=0), program.row_classes)[program.row_classes]
    average = cost.mean(axis=0)
    saved = np.where(average > 0, 1.0 - cost / np.where(average > 0, average, 1.0), 0.0).clip(0.0) ** 8 @ average
    return np.asarray(np.maximum(saved / (saved.max() or 1.0), _SMALLEST_COLUMN))
