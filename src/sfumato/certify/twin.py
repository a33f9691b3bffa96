"""The kernel's twin: the same integer comparisons, compiled, for mechanisms the kernel is too slow for.

The rationals p/q are the kernel's, computed by :mod:`sfumato.certify.exponentials`. Products are
formed in 128 bits, so a comparison is exact for weights and factors below 2^62. What is claimed
beside is checked in :mod:`sfumato.certify.twin_claims`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import squareform

from sfumato.certify import kernel
from sfumato.certify.exponentials import factors_below
from sfumato.certify.sections import stored
from sfumato.compiled import product_exceeds
from sfumato.spaces.axioms import INFINITE, chain_fits, open_pairs
from sfumato.spaces.distances import Form
from sfumato.threads import for_reading, on_threads

LARGEST_WEIGHT = 2**62 - 1
"""Totals up to this are for the twin; larger ones only for the kernel."""


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
def _broken_chain(form, table, via, infinite, first_row, last_row, n):  # type: ignore[no-untyped-def]
    """Position of the first implied pair whose chain does not hold or has an infinite leg; −1 if all do."""
    for x in range(first_row, last_row):
        for z in range(x + 1, n):
            y = via[x, z]
            if y < 0:
                continue
            if y in (x, z) or y >= n:
                return x * n + z
            a, b, c = table[x, y], table[y, z], table[x, z]
            if not chain_fits(form, a, b, c) or a >= infinite or b >= infinite:
                return x * n + z
    return -1


def fits(header: kernel.AnyHeader) -> bool:
    """Whether the twin can represent the weights of a certificate."""
    return bool(header.total <= LARGEST_WEIGHT and header.widths["weights"] <= 8)


def check_arrays(header: kernel.Header, sections: dict[str, bytes]) -> dict[str, Any]:
    """What :func:`kernel.check` proves of the pairs; raises the same errors."""
    n, m, total = len(header.secrets), len(header.outputs), header.total
    weights = stored("weights", header, sections).astype(np.uint64, copy=False)
    # a sum that is too large may wrap around at 2^64 to the right one, and is then too large in floats as well
    if (weights.sum(axis=1) != total).any() or (weights.sum(axis=1, dtype=np.float64) > 2.0**63).any():
        kernel.check_sums(header, sections)  # which names the row
    first, second, values, implied, span = _pairs(header, sections, n)
    # all pairs of secrets leave nothing open, and need no graph
    unpromised = 0 if len(first) == n * (n - 1) // 2 else open_pairs(n, first, second)
    p, q = factors_below(header.promise, header.metric, values, total)
    del values

    def scan(start: int, stop: int) -> int:
        k = _first_violation(for_reading(weights), first[start:stop], second[start:stop], p[start:stop], q[start:stop])
        return -1 if k < 0 else start + int(k)

    for k in on_threads(scan, len(first)) if len(first) else []:
        if k >= 0:
            _raise_violation(header, weights, int(first[k]), int(second[k]), int(p[k]), int(q[k]))
    if len(first) and header.promise.kind == "events":
        raise kernel.Unreadable("the promise is about events alone, and two secrets have a distance all the same")
    return {"secrets": n, "outputs": m, "total": total, "pairs": len(first), "implied": implied,
            "comparisons": 2 * m * len(first), "open": unpromised,
            "loose": int((p // q >= total).sum()), "span": span}  # fmt: skip


def _pairs(
    header: kernel.Header, sections: dict[str, bytes], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], int, tuple[Fraction, Fraction] | None]:
    """Pairs to check and their distances, after checking the chains of implied ones, and the span of all of these."""
    form = Form(header.metric.form)
    values = stored("distances", header, sections)
    unbounded = np.isinf(values) if form is Form.FLOAT else values == np.uint64(kernel.UNBOUNDED)
    if not (values >= 0 if header.metric.source == "edges" else values > 0).all():
        raise kernel.Unreadable("a distance is not a positive number")
    if form is not Form.FLOAT and (values[~unbounded] > kernel.LARGEST[form]).any():
        raise kernel.Unreadable("a distance is too large")
    edges = header.metric.source == "edges"
    first, second = edges_of(header, sections) if edges else np.triu_indices(n, 1)
    implied = np.zeros_like(unbounded)
    if "via" in sections and not edges:
        via = stored("via", header, sections)
        implied = (via != kernel.NOWHERE) & ~unbounded
        _check_chains(form, values, via, implied, n)
    finite = values[~unbounded] if unbounded.any() else values
    span = kernel.span(header.metric, finite.min().item(), finite.max().item()) if finite.size else None
    keep = ~(implied | unbounded)
    if not keep.all():  # copies of all pairs would be most of what is held
        first, second, values = first[keep], second[keep], values[keep]
    return first, second, values, int(implied.sum()), span


def edges_of(header: kernel.Header, sections: dict[str, bytes]) -> NDArray[np.int64]:
    """The two ends of every edge, as :func:`kernel.checked_edges` checks them."""
    n, ends = len(header.secrets), np.stack([stored(f"edge_{end}", header, sections) for end in ("first", "second")])
    codes = ends.min(axis=0).astype(np.uint64) * np.uint64(n) + ends.max(axis=0)
    if ends.max(initial=0) >= n or (ends[0] == ends[1]).any() or len(np.unique(codes)) < len(codes):
        kernel.checked_edges(sections, n)  # which says what is wrong
    return ends.astype(np.int64)


def _check_chains(form: Form, values: NDArray[Any], via: NDArray[Any], implied: NDArray[np.bool_], n: int) -> None:
    if form is not Form.FLOAT:
        values = np.where(values == np.uint64(kernel.UNBOUNDED), INFINITE, values).astype(np.int64)
    table, chain = squareform(values), squareform(np.where(implied, via.astype(np.int64), -1))
    infinite = np.inf if form is Form.FLOAT else INFINITE
    broken = on_threads(lambda start, stop: _broken_chain(form.code, table, chain, infinite, start, stop, n), n)
    for place in broken:
        if place >= 0:
            x, z = divmod(place, n)
            if not 0 <= chain[x, z] < n or chain[x, z] in (x, z):
                raise kernel.Unreadable(f"the point between secrets {x} and {z} is number {chain[x, z]}")
            raise kernel.Refuted(f"secret {chain[x, z]} does not lie between {x} and {z}")


def _raise_violation(header: kernel.Header, weights: NDArray[np.uint64], x: int, z: int, p: int, q: int) -> None:
    rows = {x: [int(v) for v in weights[x]], z: [int(v) for v in weights[z]]}
    for upper, lower in ((x, z), (z, x)):
        if any(a * q > p * b for a, b in zip(rows[upper], rows[lower], strict=True)):
            raise kernel.violation(header, rows.__getitem__, upper, lower, p, q)
