"""A linear program and its solution, as values over one number field."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato.errors import InvalidInput, shown
from sfumato.numbers import Array, Integers, array, floats, is_exact


class Status(StrEnum):
    """How a program ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise c·x subject to (A x)_i ≤, =, ≥ b_i, with x_j ≥ 0 unless j is free.

    The matrix is given by its entries ``values`` at ``(rows, columns)``, so that sparse
    programs stay small in either number field. ``senses`` has one of ``<``, ``=``, ``>``
    for each row.
    """

    cost: Array
    rows: Integers
    columns: Integers
    values: Array
    senses: str
    rhs: Array
    free: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for name in ("cost", "values", "rhs"):
            numbers = getattr(self, name)
            if numbers.dtype == np.float64 and not np.isfinite(numbers).all():
                raise InvalidInput(f"the {name} of a program has an entry that is not finite")
        if set(self.senses) - set("<=>"):
            raise InvalidInput(f"senses must be made of '<', '=' and '>', found {shown(self.senses)}")
        if len(self.senses) != len(self.rhs):
            raise InvalidInput(f"{len(self.senses)} senses for {len(self.rhs)} right-hand sides")
        if not len(self.rows) == len(self.columns) == len(self.values):
            raise InvalidInput("rows, columns and values of the matrix differ in length")
        if len(self.rows) and (self.rows.max() >= len(self.senses) or self.columns.max() >= len(self.cost)):
            raise InvalidInput(f"the matrix is larger than {len(self.senses)} rows and {len(self.cost)} variables")

    @classmethod
    def dense(cls, cost: Any, matrix: Any, senses: str, rhs: Any, free: frozenset[int] = frozenset()) -> LinearProgram:
        """From a full matrix, given as arrays or as lists of numbers; zero entries are left out."""
        cost, rhs = (array(v, "a vector of a program", 1, small_integers=True) for v in (cost, rhs))
        matrix = array(matrix, "the matrix of a program", 2, small_integers=True)
        if matrix.shape != (len(rhs), len(cost)):
            raise InvalidInput(f"{len(rhs)} rows and {len(cost)} variables, but a matrix of shape {matrix.shape}")
        rows, columns = np.nonzero(matrix)
        return cls(cost, rows, columns, matrix[rows, columns], senses, rhs, free)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables."""
        return len(self.senses), len(self.cost)

    @property
    def exact(self) -> bool:
        """Whether every number of the program is rational."""
        return is_exact(self.cost, self.values, self.rhs)

    def sparse(self) -> csr_array:
        """The matrix in floats."""
        return csr_array((floats(self.values), (self.rows, self.columns)), shape=self.shape)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: x and y at an optimum, or the Farkas ray y of an infeasible program.

    With y the row multipliers, an optimum has c − Aᵀy ≥ 0 (= 0 for free variables),
    y_i ≤ 0 on ``<`` rows, y_i ≥ 0 on ``>`` rows and b·y equal to the value. A Farkas ray
    has the same signs, Aᵀy ≤ 0 (= 0 for free variables) and b·y > 0.
    """

    status: Status
    exact: bool
    value: Fraction | float | None = None
    primal: Array | None = None
    dual: Array | None = None
    ray: Array | None = None
    basis: tuple[int, ...] = ()


def check_optimality(program: LinearProgram, solution: Solution) -> dict[str, Any]:
    """The four conditions of an optimum, each as its worst violation (0 when it holds).

    Primal feasibility, dual feasibility, complementarity of rows, and equality of the
    two objective values. In an exact program an optimum gives four exact zeros.
    """
    x, y = solution.primal, solution.dual
    if x is None or y is None:
        raise InvalidInput(f"a {solution.status} program has no optimum to check")
    zero: Any = Fraction(0) if program.exact and solution.exact else 0.0
    activity = [zero] * program.shape[0]
    reduced = [c + zero for c in program.cost]
    for i, j, a in zip(program.rows, program.columns, program.values, strict=True):
        activity[i] += a * x[j]
        reduced[j] -= a * y[i]
    primal = max([zero, *(-x[j] for j in range(len(x)) if j not in program.free)])
    dual = complementarity = zero
    for i, sense in enumerate(program.senses):
        slack = activity[i] - program.rhs[i]
        primal = max(primal, {"<": slack, ">": -slack, "=": abs(slack)}[sense])
        dual = max(dual, {"<": y[i], ">": -y[i], "=": zero}[sense])
        complementarity = max(complementarity, abs(slack * y[i]))
    for j, r in enumerate(reduced):
        dual = max(dual, abs(r) if j in program.free else -r)
    bound = sum((b * v for b, v in zip(program.rhs, y, strict=True)), zero)
    value = sum((c * v for c, v in zip(program.cost, x, strict=True)), zero)
    return {"primal": primal, "dual": dual, "complementarity": complementarity, "gap": abs(value - bound)}
