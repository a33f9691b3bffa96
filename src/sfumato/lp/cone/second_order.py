"""The algebra of second-order cones t ≥ ‖u‖, for many cones of one dimension at once.

A vector x = (t, u₁, …, u_k) is an array whose first axis has its 1 + k components; whatever axes follow number the
cones. With x ∘ y = (x·y, x₀ y₁ + y₀ x₁) the cone is the set of squares, e = (1, 0, …, 0) is the unit, and x has the two
eigenvalues t ± ‖u‖: in the cone both are ≥ 0. For k = 0 all this is arithmetic of numbers t ≥ 0, so that linear rows
are cones of one component and need no formulas of their own. Only operations that NumPy and torch spell alike are used,
so that the arrays may be on any device.

Nesterov and Todd (1997) found, for any s and z inside, the one symmetric W that maps the cone onto itself with
W z = W⁻¹ s; seen through W, slacks and duals are one point v, and Newton's equations are those of linear programs.
The formulas are those of Vandenberghe (2010), The CVXOPT linear and quadratic cone program solvers.
"""

from __future__ import annotations

from typing import Any, NamedTuple


def inner(x: Any, y: Any) -> Any:
    """x·y of each pair of vectors."""
    result = x[0] * y[0]
    for left, right in zip(x[1:], y[1:], strict=True):
        result = result + left * right
    return result


def _root(x: Any) -> Any:
    """√x, as both modules spell it."""
    return x**0.5


def _radius(x: Any) -> Any:
    """‖u‖ of each vector (t, u)."""
    return _root(inner(x[1:], x[1:])) if len(x) > 1 else x[0] * 0.0


def smallest(x: Any) -> Any:
    """The smaller eigenvalue t − ‖u‖: positive inside the cone, 0 on its boundary."""
    return x[0] - _radius(x)


def _determinant(x: Any) -> Any:
    """t² − ‖u‖², the product of the eigenvalues."""
    radius = _radius(x)
    return (x[0] - radius) * (x[0] + radius)


def jordan_product(x: Any, y: Any) -> Any:
    """x ∘ y.

    Examples
    --------
    >>> import numpy as np
    >>> jordan_product(np.array([2.0, 1.0]), np.array([3.0, -1.0])).tolist()
    [5.0, 1.0]
    """
    result = x[0] * y + y[0] * x
    result[0] = inner(x, y)
    return result


def jordan_quotient(x: Any, y: Any) -> Any:
    """The vector q with x ∘ q = y, for x inside the cone.

    Examples
    --------
    >>> import numpy as np
    >>> jordan_quotient(np.array([2.0, 1.0]), np.array([5.0, 1.0])).tolist()
    [3.0, -1.0]
    """
    if len(x) == 1:
        return y / x
    first = (x[0] * y[0] - inner(x[1:], y[1:])) / _determinant(x)
    result = (y - first * x) / x[0]
    result[0] = first
    return result


def inverse(x: Any) -> Any:
    """The vector q with x ∘ q = e, for x inside the cone."""
    result = -x / _determinant(x)
    result[0] = -result[0]
    return result


def clipped(x: Any, least: Any, most: Any) -> Any:
    """The nearest vector whose eigenvalues lie between ``least`` and ``most``.

    Examples
    --------
    >>> import numpy as np
    >>> clipped(np.array([1.0, 3.0]), np.array(0.0), np.array(2.0)).tolist()
    [1.0, 1.0]
    """
    if len(x) == 1:
        return x.clip(least, most)
    radius = _radius(x)
    low, high = (x[0] - radius).clip(least, most), (x[0] + radius).clip(least, most)
    result = x * (0.5 * (high - low) / (radius + (radius == 0)))
    result[0] = 0.5 * (high + low)
    return result


def cone_reach(x: Any, change: Any) -> Any:
    """1/α for the largest α with x + α change in the cone, x inside; not positive where every α will do.

    The eigenvalues of change, seen from x, are those of the vector a below; the smaller one decides.

    Examples
    --------
    >>> import numpy as np
    >>> cone_reach(np.array([2.0, 0.0]), np.array([0.0, 4.0])).tolist()
    2.0
    """
    if len(x) == 1:
        return -change[0] / x[0]
    root = _root(_determinant(x))
    unit = x / root
    first = unit[0] * change[0] - inner(unit[1:], change[1:])
    rest = change[1:] - ((first + change[0]) / (1.0 + unit[0])) * unit[1:]
    return (_root(inner(rest, rest)) - first) / root


class Scaling(NamedTuple):
    """W = η (2 a aᵀ − J), with a the square root of the axis w of determinant 1, and J = diag(1, −1, …, −1)."""

    size: Any
    axis: Any

    def times(self, x: Any) -> Any:
        """W x."""
        return self._turned(x, 1.0) * self.size

    def divided(self, x: Any) -> Any:
        """W⁻¹ x."""
        return self._turned(x, -1.0) / self.size

    def _turned(self, x: Any, sign: float) -> Any:
        """W x / η for sign 1, η W⁻¹ x for sign −1: they differ in the sign of w₁."""
        if len(x) == 1:
            return x
        first = self.axis[0]
        along = inner(self.axis[1:], x[1:])
        result = x + (sign * x[0] + along / (1.0 + first)) * self.axis
        result[0] = first * x[0] + sign * along
        return result

    def inverse_squares(self) -> list[Any]:
        """The entries (i, j), i ≤ j, row by row, of W⁻² = η⁻² (2 Jw (Jw)ᵀ − J)."""
        w = self.axis / self.size
        if len(w) == 1:
            return [w[0] * w[0]]
        d, below = len(w), 1.0 / self.size**2
        w[0] = -w[0]
        return [2.0 * w[i] * w[j] + (i == j) * (below if i else -below) for i in range(d) for j in range(i, d)]


def scaling(s: Any, z: Any) -> Scaling:
    """The scaling W of Nesterov and Todd with W z = W⁻¹ s, for s and z inside the cone."""
    if len(s) == 1:
        return Scaling(_root(s[0] / z[0]), s * 0.0 + 1.0)
    of_s, of_z = _root(_determinant(s)), _root(_determinant(z))
    s, z = s / of_s, z / of_z
    twice = _root(2.0 * (1.0 + inner(s, z)))
    axis = (s - z) / twice
    axis[0] = (s[0] + z[0]) / twice
    return Scaling(_root(of_s / of_z), axis)
