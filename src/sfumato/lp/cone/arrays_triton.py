"""The passes of the batched method over a table of pairs, each as one kernel of Triton.

A program of the grid takes some rows of the table of one column, so that an entry is read once and written at most
once, and nothing but the sums over rows and the partial sums over columns leaves it. The formulas are those of
:mod:`sfumato.lp.cone.products`; numbers that change from pass to pass come in an array, because Triton would round
a float to single precision. Where Triton is missing, this module can be imported but not used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfumato.lp.cone.arrays_corner import available, jit
from sfumato.lp.cone.arrays_pairs import DenseCone

tl: Any = import_module("triton.language") if available() else None

_ROWS, _COLUMNS = 16, 64  # The tile of a sweep.
_STRIP = 32  # The tile of a product with a vector has so many rows or columns.


@jit
def _couple_kernel(r, z, decay, w, n, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """w = z/s · r_e · d r_x, both directions together, on and below the diagonal."""
    c = tl.program_id(0).to(tl.int64)
    if tl.program_id(1) >= tl.program_id(2):
        x = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
        e = tl.program_id(2) * SIZE + tl.arange(0, SIZE)
        here = tl.load(r + c * n + x, mask=x < n, other=1.0)
        there = tl.load(r + c * n + e, mask=e < n, other=1.0)
        at = x[:, None] * n + e[None, :]
        inside = (x < n)[:, None] & (e < n)[None, :]
        near = tl.load(decay + at, mask=inside, other=0.0) * here[:, None]
        multiplier = tl.load(z + c * n * n + at, mask=inside, other=0.0)
        coupled = multiplier / (there[None, :] - near) * there[None, :] * near
        back = e[:, None] * n + x[None, :]
        turned = (e < n)[:, None] & (x < n)[None, :]
        near = tl.load(decay + back, mask=turned, other=0.0) * there[:, None]
        multiplier = tl.load(z + c * n * n + back, mask=turned, other=0.0)
        coupled += tl.trans(multiplier / (here[None, :] - near) * here[None, :] * near)
        tl.store(w + c * n * n + at, coupled, mask=inside)


@jit
def _sweep_kernel(  # type: ignore[no-untyped-def]
    r, primal, dual, z, target, new, decay, weight, scales, numbers, rows, columns, sizes, n,
    MODE: tl.constexpr, WRITE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """One pass over the table of a column: modes 0 predict, 1 aim, 3 move, 4 advance."""
    c = tl.program_id(0).to(tl.int64)
    strip = tl.program_id(1)
    strips = tl.num_programs(1)
    x = strip * ROWS + tl.arange(0, ROWS)
    r_x = tl.load(r + c * n + x, mask=x < n, other=1.0)
    dual_x = tl.load(dual + c * n + x, mask=x < n, other=0.0)
    if MODE == 3:
        primal_x = tl.load(primal + c * n + x, mask=x < n, other=0.0)
    scale = tl.load(scales + c)
    p0, p1 = tl.load(numbers), tl.load(numbers + 1)
    p2, p3 = tl.load(numbers + 2), tl.load(numbers + 3)
    down, up = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    s0, s1, s2 = tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64), tl.zeros([ROWS], tl.float64)
    total = tl.zeros([ROWS], tl.float64)
    for start in range(0, n, COLUMNS):
        e = start + tl.arange(0, COLUMNS)
        r_e = tl.load(r + c * n + e, mask=e < n, other=1.0)
        dual_e = tl.load(dual + c * n + e, mask=e < n, other=0.0)
        at = x[:, None] * n + e[None, :]
        inside = (x < n)[:, None] & (e < n)[None, :]
        d = tl.load(decay + at, mask=inside, other=0.0)
        w = tl.load(weight + at, mask=inside, other=0.0) * scale
        multiplier = tl.load(z + c * n * n + at, mask=inside, other=0.0)
        slack = r_e[None, :] - d * r_x[:, None]
        change = dual_e[None, :] - d * dual_x[:, None]
        if MODE == 0:
            ratio = change / slack
            product = slack * multiplier
            down = tl.maximum(down, tl.max(tl.where(w > 0, -ratio, 0.0), axis=1))
            up = tl.maximum(up, tl.max(tl.where(w > 0, 1.0 + ratio, 0.0), axis=1))
            s0 += tl.sum(product, axis=1)
            s1 += tl.sum(product * ratio, axis=1)
            s2 += tl.sum(product * ratio * ratio, axis=1)
        else:
            inverse = 1.0 / slack
            if MODE == 1:
                ratio = change * inverse
                term = slack * multiplier * ratio * (1.0 + ratio)
                aim = w * p0 + tl.minimum(tl.maximum(term, w * p1), w * p2)
            else:
                aim = tl.load(target + c * n * n + at, mask=inside, other=0.0).to(tl.float64)
            if MODE == 3:
                step = (aim - multiplier * change) * inverse - multiplier
                primal_e = tl.load(primal + c * n + e, mask=e < n, other=0.0)
                forward = primal_e[None, :] - d * primal_x[:, None]
                product = (slack + p0 * forward) * (multiplier + p1 * step)
                highest = w * p3
                moved = tl.minimum(tl.maximum(product, w * p2), highest) - product
                aim = aim + tl.maximum(moved, -highest)
            if MODE != 4:
                rounded = aim.to(new.dtype.element_ty)
                tl.store(new + c * n * n + at, rounded, mask=inside)
                aim = rounded.to(tl.float64)
            force = (aim - multiplier * change) * inverse
            if MODE == 4:
                force = (1.0 - p0) * multiplier + p0 * force
                if WRITE:
                    tl.store(new + c * n * n + at, force, mask=inside)
            total += tl.sum(d * force, axis=1)
            tl.store(columns + (c * strips + strip) * n + e, tl.sum(force, axis=0), mask=e < n)
    if MODE == 0:
        place = sizes + (c * strips + strip) * 5
        tl.store(place, tl.max(down, axis=0))
        tl.store(place + 1, tl.max(up, axis=0))
        tl.store(place + 2, tl.sum(s0, axis=0))
        tl.store(place + 3, tl.sum(s1, axis=0))
        tl.store(place + 4, tl.sum(s2, axis=0))
    else:
        tl.store(rows + c * n + x, total, mask=x < n)


@jit
def _reach_kernel(  # type: ignore[no-untyped-def]
    r, primal, dual, more, z, target, new, decay, weight, numbers, sizes, n,
    SHARES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """For each share of a correction the largest −change/slack and −step/multiplier in some rows of a table."""
    c = tl.program_id(0).to(tl.int64)
    strip = tl.program_id(1)
    strips = tl.num_programs(1)
    x = strip * ROWS + tl.arange(0, ROWS)
    r_x = tl.load(r + c * n + x, mask=x < n, other=1.0)
    primal_x = tl.load(primal + c * n + x, mask=x < n, other=0.0)
    dual_x = tl.load(dual + c * n + x, mask=x < n, other=0.0)
    more_x = tl.load(more + c * n + x, mask=x < n, other=0.0)
    number = tl.arange(0, 8)
    down, up = tl.zeros([ROWS, 8], tl.float64), tl.zeros([ROWS, 8], tl.float64)
    for start in range(0, n, COLUMNS):
        e = start + tl.arange(0, COLUMNS)
        r_e = tl.load(r + c * n + e, mask=e < n, other=1.0)
        primal_e = tl.load(primal + c * n + e, mask=e < n, other=0.0)
        dual_e = tl.load(dual + c * n + e, mask=e < n, other=0.0)
        more_e = tl.load(more + c * n + e, mask=e < n, other=0.0)
        at = x[:, None] * n + e[None, :]
        inside = (x < n)[:, None] & (e < n)[None, :]
        d = tl.load(decay + at, mask=inside, other=0.0)
        w = tl.load(weight + at, mask=inside, other=0.0)
        multiplier = tl.load(z + c * n * n + at, mask=inside, other=0.0)
        aim = tl.load(target + c * n * n + at, mask=inside, other=0.0).to(tl.float64)
        moved = tl.load(new + c * n * n + at, mask=inside, other=0.0).to(tl.float64) - aim
        slack = r_e[None, :] - d * r_x[:, None]
        inverse = 1.0 / tl.where(w > 0, slack * multiplier, 1.0)
        per_slack = multiplier * inverse
        forward = (d * primal_x[:, None] - primal_e[None, :]) * per_slack
        extra = (d * more_x[:, None] - more_e[None, :]) * per_slack
        backward = 1.0 + (dual_e[None, :] - d * dual_x[:, None]) * per_slack - aim * inverse
        other = extra + moved * inverse
        for k in tl.static_range(SHARES):
            share = tl.load(numbers + k)
            first = tl.max(tl.where(w > 0, forward + share * extra, 0.0), axis=1)
            second = tl.max(tl.where(w > 0, backward - share * other, 0.0), axis=1)
            here = (number == k)[None, :]
            down = tl.maximum(down, tl.where(here, first[:, None], 0.0))
            up = tl.maximum(up, tl.where(here, second[:, None], 0.0))
    place = sizes + (c * strips + strip) * SHARES * 2 + number * 2
    tl.store(place, tl.max(down, axis=0), mask=number < SHARES)
    tl.store(place + 1, tl.max(up, axis=0), mask=number < SHARES)


@jit
def _turned_product_kernel(u, values, result, n, SIZE: tl.constexpr, LENGTH: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Uᵀ times a vector, for upper triangular U."""
    c = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float64)
    for start in range(0, tl.minimum(n, (tl.program_id(1) + 1) * SIZE), LENGTH):
        x = start + tl.arange(0, LENGTH)
        inside = (x < n)[:, None] & (k < n)[None, :]
        table = tl.load(u + c * n * n + x[:, None] * n + k[None, :], mask=inside, other=0.0)
        total += tl.sum(table * tl.load(values + c * n + x, mask=x < n, other=0.0)[:, None], axis=0)
    tl.store(result + c * n + k, total, mask=k < n)


@jit
def _product_kernel(u, values, result, n, SIZE: tl.constexpr, LENGTH: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """U times a vector, for upper triangular U."""
    c = tl.program_id(0).to(tl.int64)
    x = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float64)
    for start in range(tl.program_id(1) * SIZE // LENGTH * LENGTH, n, LENGTH):
        k = start + tl.arange(0, LENGTH)
        inside = (x < n)[:, None] & (k < n)[None, :]
        table = tl.load(u + c * n * n + x[:, None] * n + k[None, :], mask=inside, other=0.0)
        total += tl.sum(table * tl.load(values + c * n + k, mask=k < n, other=0.0)[None, :], axis=1)
    tl.store(result + c * n + x, total, mask=x < n)


class FusedCone(DenseCone):
    """The dense layout with fused passes."""

    def _sweep(
        self, mode: int, r: Any, primal: Any, dual: Any, z: Any, target: Any, new: Any, scales: Any,
        numbers: tuple[float, ...], write: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Sums of products and their like for mode 0, Gᵀ of what the mode is about for others."""
        c, n = r.shape
        strips = -(-n // _ROWS)
        rows, columns = self.arrays.empty(c, n), self.arrays.empty(c, strips, n)
        sizes = self.arrays.empty(c, strips, 5)
        given = self.arrays.given((*numbers, 0.0, 0.0, 0.0, 0.0)[:4])
        _sweep_kernel[(c, strips)](
            r, primal, dual, z, target, new, self.decay, self.weight, scales, given, rows, columns, sizes, n,
            MODE=mode, WRITE=write, ROWS=_ROWS, COLUMNS=_COLUMNS,
        )  # fmt: skip
        return sizes, columns.sum(1) - rows if mode else None

    def predicted(self, r: Any, dr: Any, z: Any) -> Any:
        """Sizes of the predictor's step."""
        sizes = self._sweep(0, r, dr, dr, z, z, z, r[:, 0] * 0 + 1, ())[0]
        most, sums = self.arrays.module.amax(sizes[:, :, :2], (0, 1)), sizes[:, :, 2:].sum((0, 1))
        return self.arrays.module.concatenate([most, sums])

    def reach(
        self, r: Any, primal: Any, dual: Any, more: Any, z: Any, target: Any, new: Any, shares: tuple[float, ...]
    ) -> Any:
        """How far steps may go, for each share of a correction."""
        c, n = r.shape
        strips = -(-n // _ROWS)
        sizes = self.arrays.empty(c, strips, 2 * len(shares))
        _reach_kernel[(c, strips)](
            r, primal, dual, more, z, target, new, self.decay, self.weight, self.arrays.given(shares), sizes, n,
            SHARES=len(shares), ROWS=_ROWS, COLUMNS=_COLUMNS,
        )  # fmt: skip
        return self.arrays.module.amax(sizes, (0, 1))

    def aim(self, r: Any, dr: Any, z: Any, target: Any, columns: Any, centre: float, least: float, most: float) -> Any:
        """Set targets, and return Gᵀ of the duals after the step they ask for."""
        return self._sweep(1, r, dr, dr, z, target, target, columns, (centre, least, most))[1]

    def move(
        self, r: Any, primal: Any, dual: Any, z: Any, target: Any, new: Any, columns: Any, ahead: float, beside: float,
        least: float, most: float,
    ) -> Any:  # fmt: skip
        """Set new targets for a longer step, and return Gᵀ of the duals after the step they ask for."""
        return self._sweep(3, r, primal, dual, z, target, new, columns, (ahead, beside, least, most))[1]

    def advance(self, r: Any, dr: Any, z: Any, target: Any, dual: float, trial: bool = False) -> Any:
        """Take the step of the multipliers, unless it is a trial, and return Gᵀ of the new ones."""
        return self._sweep(4, r, dr, dr, z, target, z, r[:, 0] * 0 + 1, (dual,), not trial)[1]

    def coupled(self, r: Any, z: Any) -> Any:
        """−r ∘ H ∘ r below the diagonal."""
        c, n = r.shape
        w, blocks = self.arrays.empty(c, n, n), -(-n // _STRIP)
        _couple_kernel[(c, blocks, blocks)](r, z, self.decay, w, n, SIZE=_STRIP)
        return w

    def solve(self, factor: Any, values: Any) -> Any:
        """H⁻¹ times values over rows."""
        c, n = values.shape
        half, result = self.arrays.empty(c, n), self.arrays.empty(c, n)
        grid = (c, -(-n // _STRIP))
        _turned_product_kernel[grid](factor, values.contiguous(), half, n, SIZE=_STRIP, LENGTH=_COLUMNS)
        _product_kernel[grid](factor, half, result, n, SIZE=_STRIP, LENGTH=_COLUMNS)
        return result
