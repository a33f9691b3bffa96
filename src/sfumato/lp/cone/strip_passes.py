"""What strips of columns do cone by cone, for the cones of one block in all columns at once.

There are two kinds: one over arrays of any device, written with the algebra of :mod:`sfumato.lp.cone.second_order`, and
one compiled, for arrays in memory (:mod:`sfumato.lp.cone.second_order_compiled`). v is the point of slacks and duals
seen through the scaling W, d = W⁻¹ ds, and t/v − d what the duals become, where ``goal`` is t/v.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.lp.cone import second_order_compiled as compiled
from sfumato.lp.cone.registers import LANES, PLANES, registers
from sfumato.lp.cone.second_order import (
    Scaling,
    clipped,
    cone_reach,
    inner,
    jordan_product,
    jordan_quotient,
    scaling,
    smallest,
)


class Passes:
    """Over arrays of any device."""

    def scaled(self, s: Any, z: Any) -> tuple[Scaling, Any, list[Any]]:
        """The scaling, v = W z, and the entries of W⁻²."""
        found = scaling(s, z)
        return found, found.times(z), found.inverse_squares()

    def divided(self, seen: Scaling, x: Any, less: Any = None) -> Any:
        """W⁻¹ (x − less)."""
        return seen.divided(x if less is None else x - less)

    def predicted(self, v: Any, d: Any) -> tuple[float, ...]:
        """The largest 1/α of slacks and duals of a predictor, and the sums of ⟨v, v⟩, ⟨d, v⟩ and ⟨d, d + v⟩."""
        total = d + v
        sums = (float(inner(x, y).sum()) for x, y in ((v, v), (d, v), (d, total)))
        return _largest(cone_reach(v, d)), _largest(cone_reach(v, -total)), *sums

    def aimed(self, v: Any, d: Any, weight: Any, target: float, least: float, most: float) -> tuple[Any, Any]:
        """Targets less the second-order term of the predictor within bounds, all times weights; and their goal."""
        t = clipped(jordan_product(d, d + v), weight * least, weight * most)
        t[0] += weight * target
        return t, jordan_quotient(v, t)

    def moved(
        self, v: Any, ahead: Any, d: Any, goal: Any, t: Any, weight: Any,
        primal: float, dual: float, least: float, most: float,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Targets moved so that products at longer steps are between bounds, times weights; and their goal."""
        high = weight * most
        products = jordan_product(v + primal * ahead, v + dual * (goal - d - v))
        t = t + clipped(clipped(products, weight * least, high) - products, -high, np.inf * high)
        return t, jordan_quotient(v, t)

    def reaches(
        self, v: Any, ahead: Any, d: Any, goal: Any, old_d: Any, old_goal: Any, shares: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        """The largest 1/α of slacks and duals, for each share of what has changed since ``old_d`` and ``old_goal``."""
        change, beside = d - old_d, old_goal - old_d - v
        turn = goal - old_goal - change
        return [
            (_largest(cone_reach(v, ahead + share * change)), _largest(cone_reach(v, beside + share * turn)))
            for share in shares
        ]

    def mixed(self, old: Any, new: Any, was: Any, share: float) -> Any:
        """old + share · (new − was)."""
        return old + share * (new - was)

    def stepped(self, z: Any, seen: Scaling, goal: Any, d: Any, length: float) -> Any:
        """The duals after a step."""
        return (1.0 - length) * z + length * seen.divided(goal - d)

    def inside(self, x: Any) -> bool:
        """Whether all vectors are strictly inside their cones."""
        return 0 in x.shape or bool(float(smallest(x).min()) > 0)


def _largest(values: Any) -> float:
    """The largest of some values, at least 0; infinite where one is no number."""
    largest = float(values.max()) if 0 not in values.shape else 0.0
    return max(largest, 0.0) if largest == largest else np.inf


class _CompiledPasses(Passes):
    """Over arrays in memory, with as many columns as fill registers and cones of as many components as planes."""

    def scaled(self, s: Any, z: Any) -> tuple[Scaling, Any, list[Any]]:
        d = len(s)
        size, axis, v = np.empty(s.shape[1:]), np.empty(s.shape), np.empty(s.shape)
        squares = np.empty((d * (d + 1) // 2, *s.shape[1:]))
        compiled.scaled(*map(_flat, (s, z, size[None], axis, v, squares)))
        return Scaling(size, axis), v, [squares.reshape(-1, s.shape[-1])]

    def divided(self, seen: Scaling, x: Any, less: Any = None) -> Any:
        out = np.empty(x.shape)
        nothing = np.empty((len(x), 0, LANES))
        compiled.scaled_difference(
            *map(_flat, (seen.size[None], seen.axis, x)), nothing if less is None else _flat(less), _flat(out)
        )
        return out

    def predicted(self, v: Any, d: Any) -> tuple[float, ...]:
        stats = registers(5, LANES)
        compiled.predicted(_flat(v), _flat(d), stats)
        return *stats[:2].max(axis=1).tolist(), *stats[2:].sum(axis=1).tolist()

    def aimed(self, v: Any, d: Any, weight: Any, target: float, least: float, most: float) -> tuple[Any, Any]:
        t, goal = np.empty(v.shape), np.empty(v.shape)
        compiled.aimed(*map(_flat, (v, d, weight[None])), target, least, most, _flat(t), _flat(goal))
        return t, goal

    def moved(
        self, v: Any, ahead: Any, d: Any, goal: Any, t: Any, weight: Any,
        primal: float, dual: float, least: float, most: float,
    ) -> tuple[Any, Any]:  # fmt: skip
        new, new_goal = np.empty(v.shape), np.empty(v.shape)
        given = map(_flat, (v, ahead, d, goal, t, weight[None]))
        compiled.moved(*given, primal, dual, least, most, _flat(new), _flat(new_goal))
        return new, new_goal

    def reaches(
        self, v: Any, ahead: Any, d: Any, goal: Any, old_d: Any, old_goal: Any, shares: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        out = registers(2 * len(shares), LANES)
        compiled.cone_reaches(*map(_flat, (v, ahead, d, goal, old_d, old_goal)), np.array(shares), out)
        return [tuple(pair) for pair in out.max(axis=1).reshape(-1, 2).tolist()]

    def mixed(self, old: Any, new: Any, was: Any, share: float) -> Any:
        out = np.empty(old.shape)
        compiled.mixed(*map(_flat, (old, new, was)), share, _flat(out))
        return out

    def stepped(self, z: Any, seen: Scaling, goal: Any, d: Any, length: float) -> Any:
        out = np.empty(z.shape)
        given = map(_flat, (z, seen.size[None], seen.axis, goal, d))
        compiled.cone_stepped(*given, length, _flat(out))
        return out

    def inside(self, x: Any) -> bool:
        return bool(compiled.least(_flat(x)) > 0)


def _flat(x: Any) -> Any:
    """As registers of cones, one plane a component."""
    return x.reshape(len(x), -1, LANES) if x.flags.c_contiguous else np.ascontiguousarray(x).reshape(len(x), -1, LANES)


def passes_for(x: Any) -> Passes:
    """The passes for arrays like this one, (components, cones, columns)."""
    fills = isinstance(x, np.ndarray) and x.shape[-1] % LANES == 0 and x.size > 0
    return _CompiledPasses() if fills and len(x) <= PLANES else Passes()
