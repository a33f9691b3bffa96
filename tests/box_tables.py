"""Mechanisms for coordinates for tests: any positive table, with the ε that its coefficients really keep."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.certify.coordinates import BoxMechanism, prove_on_box
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding, bernstein_rows, dense, rounding_of

TOTAL = 1 << 40


def box_mechanism(
    box: Box,
    *,
    parts: int | Sequence[int] = 1,
    degree: int = 2,
    breaks: Any = None,
    outputs: int = 5,
    spread: float = 1.0,
    total: int = TOTAL,
    halvings: int = 0,
    seed: int = 0,
) -> BoxMechanism:
    """Noise like that of Laplace around some random outputs, rounded to a lattice; ``spread`` over the largest side."""
    rounding = rounding_of(box, parts, degree, breaks)
    rng = np.random.default_rng(seed)
    everywhere = list(product(range(17), repeat=box.dimension))
    chosen = [everywhere[k] for k in rng.permutation(len(everywhere))[:outputs].tolist()]
    where = [
        tuple(o + side * Fraction(k, 16) for o, side, k in zip(box.origin, box.sides, place, strict=True))
        for place in chosen
    ]
    points = np.array(
        [
            [float(o + p) for o, p in zip(box.origin, point, strict=True)]
            for point in product(*(axis.points for axis in rounding.axes))
        ]
    )
    far = np.linalg.norm(points[:, None] - np.array(where, dtype=float)[None], axis=2)
    masses = np.exp(-far / (spread * float(max(box.sides)))) * rng.uniform(0.9, 1.1, outputs)
    masses /= masses.sum(axis=1, keepdims=True)
    weights = np.floor(masses * total).astype(np.int64)
    weights[:, 0] += total - weights.sum(axis=1)
    rate = kept_rate(rounding, weights, halvings)
    privacy = sf.PrivacyType(box, epsilon=rate)
    labels = tuple(y[0] if len(y) == 1 else y for y in where)
    return prove_on_box(weights, privacy, rounding, labels, halvings=halvings)


def kept_rate(rounding: Rounding, weights: np.ndarray, halvings: int = 0) -> Fraction:
    """An ε that the coefficients of a table keep: the largest ratio in floats, and a little more."""
    rows = [bernstein_rows(axis, halvings) for axis in rounding.axes]
    forms = [[dense(part, len(axis)) for part in pair] for pair, axis in zip(rows, rounding.axes, strict=True)]
    table = weights.astype(float).reshape(*rounding.shape, -1)
    values = _applied(table, [value for value, _ in forms])
    slopes = np.stack(
        [_applied(table, [slope if i == k else value for i, (value, slope) in enumerate(forms)])
         for k in range(len(forms))]
    )  # fmt: skip
    dual = {"euclidean": 2, "manhattan": np.inf, "chebyshev": 1}[rounding.box.metric]
    ratio = np.linalg.norm(slopes.reshape(len(forms), -1), ord=dual, axis=0) / values.ravel()
    return Fraction(float(ratio.max() * (1 + 1e-9))).limit_denominator(10**9) + Fraction(1, 10**8)


def _applied(table: np.ndarray, forms: list[np.ndarray]) -> np.ndarray:
    for axis, form in enumerate(forms):
        table = np.moveaxis(np.tensordot(form, table, axes=(1, axis)), 0, axis)
    return table
