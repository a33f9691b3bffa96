"""The kernel's twin: the same integer comparisons, compiled, for mechanisms the kernel is too slow for.

The rationals p/q come from the kernel's own functions, one for each distinct distance. Products
are formed in 128 bits, so a comparison is exact for weights and factors below 2^62; the sums of
dual numbers in 256 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sfumato.certify import kernel
from sfumato.spaces.axioms import INFINITE, chain_fits
from sfumato.spaces.distances import Form
from sfumato.threads import on_threads

__all__ = ["LARGEST_WEIGHT", "check_arrays", "dual_sums", "factors_below", "fits", "product_exceeds"]

LARGEST_WEIGHT = 2**62 - 1
"""Totals up to this are for the twin; larger ones only for the kernel."""


@intrinsic
def product_exceeds(typing_context, a, b, c, d):  # type: ignore[no-untyped-def]
    """a·b > c·d for unsigned 64-bit integers, in 128 bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = [builder.zext(argument, ir.IntType(128)) for argument in arguments]
        return builder.icmp_unsigned(">", builder.mul(wide[0], wide[1]), builder.mul(wide[2], wide[3]))

    word = types.uint64
    return types.boolean(word, word, word, word), generate


@njit(cache=True, nogil=True)
def _first_violation(weights, first, second, p, q):  # type: ignore[no-untyped-def]
    for k in range(first.size):
        a, b = weights[first[k]], weights[second[k]]
        broken = False
        for y in range(a.size):
            # p ≥ q, so only the larger of the two can exceed
            broken |= product_exceeds(max(a[y], b[y]), q[k], p[k], min(a[y], b[y]))
        if broken:
            return k
    return -1


@njit(cache=True, nogil=True)
def _broken_chain(form, table, via, first_row, last_row, n):  # type: ignore[no-untyped-def]
    """Position of the first implied pair whose chain does not hold; −1 if all do."""
    for x in range(first_row, last_row):
        for z in range(x + 1, n):
            y = via[x, z]
            if y < 0:
                continue
            if y in (x, z) or y >= n:
                return x * n + z
            a, b, c = table[x, y], table[y, z], table[x, z]
            if not chain_fits(form, a, b, c) or a >= INFINITE or b >= INFINITE:
                return x * n + z
    return -1


def fits(header: dict[str, Any]) -> bool:
    """Whether the twin can represent the weights of a certificate."""
    return bool(header["total"] <= LARGEST_WEIGHT and header["widths"]["weights"] <= 8)


def check_arrays(header: dict[str, Any], sections: dict[str, bytes]) -> dict[str, Any]:
    """What :func:`kernel.check` proves of the pairs; raises the same errors."""
    n, m, total = len(header["secrets"]), len(header["outputs"]), header["total"]
    width = header["widths"]["weights"]
    weights = np.frombuffer(sections["weights"], dtype=f"<u{width}").reshape(n, m).astype(np.uint64)
    # n·m ≤ 2^29 weights below 2^62 could wrap around: sum in two halves
    low, high = (weights & np.uint64(0xFFFFFFFF)).sum(axis=1), (weights >> np.uint64(32)).sum(axis=1)
    for x in range(n):
        found = int(low[x]) + (int(high[x]) << 32)
        if found != total:
            raise kernel.Refuted(f"the weights of {header['secrets'][x]!r} sum to {found}, not to {total}")
    first, second, values, implied = _pairs(header, sections, n)
    p, q = factors_below(header["promise"], header["metric"], values, total)

    def scan(start: int, stop: int) -> int:
        k = _first_violation(weights, first[start:stop], second[start:stop], p[start:stop], q[start:stop])
        return -1 if k < 0 else start + int(k)

    for k in on_threads(scan, len(first)) if len(first) else []:
        if k >= 0:
            _raise_violation(header, weights, int(first[k]), int(second[k]), int(p[k]), int(q[k]))
    return {"secrets": n, "outputs": m, "total": total, "pairs": len(first), "implied": implied,
            "comparisons": 2 * m * len(first)}  # fmt: skip


_DUAL_GRAIN = 60  # binary digits after the point of a factor, rounded up
_ACCUMULATOR = 32  # bytes of a sum: 2^13 products of a weight below 2^63 and a factor below 2^(60 + 60) fit easily


@intrinsic
def _add_product(typing_context, sums, position, weight, high, low, negative):  # type: ignore[no-untyped-def]
    """sums[position] ± weight · (high·2^64 + low), a 256-bit integer in four neighbouring words of an array."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        wide = ir.IntType(256)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        where = builder.gep(builder.bitcast(data, wide.as_pointer()), [arguments[1]])
        weight, high, low = (builder.zext(argument, wide) for argument in arguments[2:5])
        factor = builder.or_(builder.shl(high, ir.Constant(wide, 64)), low)
        product = builder.mul(weight, factor)
        before = builder.load(where, align=8)
        less, more = builder.sub(before, product), builder.add(before, product)
        builder.store(builder.select(arguments[5], less, more), where, align=8)
        return context.get_dummy_value()

    word = types.uint64
    return types.void(sums, types.int64, word, word, word, types.boolean), generate


@njit(cache=True, nogil=True)
def _sum_duals(first, second, action, values, pair, high, low, one, actions, sums):  # type: ignore[no-untyped-def]
    """Σ_z Z[x,z,w] − Σ_z f·Z[z,x,w], with f of the pair of each entry."""
    for k in range(first.size):
        _add_product(sums, first[k] * actions + action[k], values[k], np.uint64(0), one, False)
        _add_product(sums, second[k] * actions + action[k], values[k], high[pair[k]], low[pair[k]], True)


def dual_sums(header: dict[str, Any], sections: dict[str, bytes], n: int, actions: int) -> tuple[list[list[int]], int]:
    """What :func:`kernel.dual_sums` sums, factors rounded up to 2^-60; large ones are left to the kernel itself."""
    places = [
        np.frombuffer(sections[f"dual_{part}"], dtype="<u4").astype(np.int64) for part in ("from", "to", "action")
    ]
    first, second, action = places
    width = header["widths"]["dual"]
    if not first.size or width > 8:
        return kernel.dual_sums(header, sections, n, actions)
    if max(first.max(), second.max()) >= n or (first == second).any() or action.max() >= actions:
        raise kernel.Unreadable("a dual number belongs to no constraint")
    values = np.frombuffer(sections["dual"], dtype=f"<u{width}").astype(np.uint64)
    pairs, pair = np.unique(first * n + second, return_inverse=True)
    distance = kernel.pair_distances(header, sections, n)
    apart = [distance(min(divmod(k, n)), max(divmod(k, n))) for k in pairs.tolist()]
    if None in apart:
        raise kernel.Refuted("a dual number uses two secrets between which nothing is promised")
    factors = {d: kernel.factor_above(header["promise"], header["metric"], d) for d in set(apart)}
    if max(factors.values()) >= 1 << 60 or int(values.max()) >> 63 or first.size > 2**40:
        return kernel.dual_sums(header, sections, n, actions)
    above = {d: -((-f.numerator << _DUAL_GRAIN) // f.denominator) for d, f in factors.items()}
    high = np.array([above[d] >> 64 for d in apart], dtype=np.uint64)
    low = np.array([above[d] & 0xFFFFFFFFFFFFFFFF for d in apart], dtype=np.uint64)
    sums = np.zeros(n * actions * (_ACCUMULATOR // 8), dtype=np.uint64)
    _sum_duals(first, second, action, values, pair, high, low, np.uint64(1 << _DUAL_GRAIN), actions, sums)
    raw = sums.astype("<u8").tobytes()
    whole = [int.from_bytes(raw[i : i + _ACCUMULATOR], "little", signed=True) for i in range(0, len(raw), _ACCUMULATOR)]
    return [whole[x * actions : (x + 1) * actions] for x in range(n)], 1 << _DUAL_GRAIN


def factors_below(
    promise: dict[str, Any], metric: dict[str, Any], values: NDArray[Any], cap: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The kernel's p and q for an array of distances, computed once for each distinct one."""
    distinct, where = np.unique(values, return_inverse=True)
    factors = [kernel.factor_below(promise, metric, value, cap) for value in distinct.tolist()]
    p = np.array([f[0] for f in factors], dtype=np.uint64)
    q = np.array([f[1] for f in factors], dtype=np.uint64)
    return p[where], q[where]


def _pairs(
    header: dict[str, Any], sections: dict[str, bytes], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], int]:
    """Pairs to check and their distances, after checking the chains of implied ones."""
    form = Form(header["metric"]["form"])
    values = np.frombuffer(sections["distances"], dtype="<f8" if form is Form.FLOAT else "<u8")
    unbounded = np.isinf(values) if form is Form.FLOAT else values == np.uint64(kernel.UNBOUNDED)
    if not (values > 0).all():
        raise kernel.Unreadable("a distance is not a positive number")
    if form is not Form.FLOAT and (values[~unbounded] > kernel.LARGEST[form]).any():
        raise kernel.Unreadable("a distance is too large")
    if header["metric"]["source"] == "edges":
        edges = np.array(kernel.edges_of(sections, n), dtype=np.int64).reshape(-1, 2)
        keep = ~unbounded
        return edges[keep, 0], edges[keep, 1], values[keep], 0
    first, second = np.triu_indices(n, 1)
    if "via" not in sections:
        keep = ~unbounded
        return first[keep], second[keep], values[keep], 0
    via = np.frombuffer(sections["via"], dtype="<u4")
    implied = (via != kernel.NOWHERE) & ~unbounded
    _check_chains(form, values, via, implied, n)
    keep = ~implied & ~unbounded
    return first[keep], second[keep], values[keep], int(implied.sum())


def _check_chains(form: Form, values: NDArray[Any], via: NDArray[Any], implied: NDArray[np.bool_], n: int) -> None:
    table: NDArray[Any] = np.zeros((n, n), dtype=np.float64 if form is Form.FLOAT else np.int64)
    chain = np.full((n, n), -1, dtype=np.int64)
    upper = np.triu_indices(n, 1)
    if form is not Form.FLOAT:
        # infinite legs stand for a value that no sum of two fits under
        values = np.where(values > 2**61, 2**61, values).astype(np.int64)
    table[upper] = values
    table = table + table.T
    chain[upper] = np.where(implied, via.astype(np.int64), -1)
    found = on_threads(lambda start, stop: _broken_chain(form.code, table, chain, start, stop, n), n)
    for place in found:
        if place >= 0:
            x, z = divmod(place, n)
            if not 0 <= chain[x, z] < n or chain[x, z] in (x, z):
                raise kernel.Unreadable(f"the point between secrets {x} and {z} is number {chain[x, z]}")
            raise kernel.Refuted(f"secret {chain[x, z]} does not lie between {x} and {z}")


def _raise_violation(header: dict[str, Any], weights: NDArray[np.uint64], x: int, z: int, p: int, q: int) -> None:
    rows = {x: [int(v) for v in weights[x]], z: [int(v) for v in weights[z]]}
    for upper, lower in ((x, z), (z, x)):
        if any(a * q > p * b for a, b in zip(rows[upper], rows[lower], strict=True)):
            raise kernel.violation(header, rows, upper, lower, p, q)
