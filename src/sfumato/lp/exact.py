"""The exact backend: confirm the float basis in rationals, pivot on where it is wrong.

A simplex basis is a combinatorial object: floats may propose it, rationals decide
whether it is optimal. When the proposal is primal feasible but not optimal, or not
even feasible, an exact tableau with Bland's rule (which cannot cycle) goes on.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np

from sfumato.errors import InvalidInput, SolverError
from sfumato.lp.highs import solve_floats
from sfumato.lp.program import LinearProgram, Solution, Status
from sfumato.numbers import Array, exact, fmpq, fractions, object_array

__all__ = ["solve_rationals"]

_ZERO = flint.fmpq(0)


def solve_rationals(program: LinearProgram) -> Solution:
    """Solve over the rationals: the optimum, or an exact Farkas ray."""
    if not program.exact:
        raise InvalidInput("an exact solution needs a program over the rationals")
    standard = _StandardForm(program)
    try:
        proposal = solve_floats(program).basis
    except SolverError:
        proposal = ()
    if len(proposal) == standard.rows:
        confirmed = standard.confirm(proposal)
        if confirmed is not None:
            return confirmed
    return standard.two_phases()


class _StandardForm:
    """min c·z, [A S] z = b, z ≥ 0: free variables split, one logical column for each row.

    The logical of an equality row is fixed at zero; it only stands in a basis when
    the row is redundant.
    """

    def __init__(self, program: LinearProgram) -> None:
        self.program = program
        self.rows, self.columns = program.shape
        self.matrix = np.full(program.shape, _ZERO, dtype=object)
        for i, j, value in zip(program.rows.tolist(), program.columns.tolist(), fractions(program.values), strict=True):
            self.matrix[i, j] += fmpq(value)
        self.cost = _rationals(program.cost)
        self.rhs = _rationals(program.rhs)

    def column(self, j: int) -> Array:
        if j < self.columns:
            return self.matrix[:, j]
        unit = np.full(self.rows, _ZERO, dtype=object)
        unit[j - self.columns] = flint.fmpq(-1 if self.program.senses[j - self.columns] == ">" else 1)
        return unit

    def confirm(self, basis: tuple[int, ...]) -> Solution | None:
        """The exact solution that belongs to a basis, if that basis is optimal."""
        m = self.rows
        square = flint.fmpq_mat(m, m, [v for i in range(m) for v in (self.column(j)[i] for j in basis)])
        try:
            point = square.solve(flint.fmpq_mat(m, 1, list(self.rhs))).entries()
            costs = [self.cost[j] if j < self.columns else _ZERO for j in basis]
            dual = np.array(square.transpose().solve(flint.fmpq_mat(m, 1, costs)).entries(), dtype=object)
        except ZeroDivisionError:
            return None
        free = self.program.free
        for j, value in zip(basis, point, strict=True):
            fixed = j >= self.columns and self.program.senses[j - self.columns] == "="
            if (value < 0 and j not in free) or (fixed and value != 0):
                return None
        if not self._dual_feasible(dual):
            return None
        primal = np.full(self.columns, _ZERO, dtype=object)
        for j, value in zip(basis, point, strict=True):
            if j < self.columns:
                primal[j] = value
        return self._optimum(primal, dual, basis)

    def _dual_feasible(self, dual: Array) -> bool:
        for sense, y in zip(self.program.senses, dual, strict=True):
            if (sense == "<" and y > 0) or (sense == ">" and y < 0):
                return False
        reduced = self.cost - dual @ self.matrix
        return all(r == 0 if j in self.program.free else r >= 0 for j, r in enumerate(reduced))

    def _optimum(self, primal: Array, dual: Array, basis: tuple[int, ...]) -> Solution:
        value = sum((c * x for c, x in zip(self.cost, primal, strict=True)), _ZERO)
        return Solution(
            Status.OPTIMAL, exact=True, value=exact(value), primal=_exact_array(primal),
            dual=_exact_array(dual), basis=basis,
        )  # fmt: skip

    def two_phases(self) -> Solution:
        """Bland's simplex method from scratch."""
        tableau = _Tableau(self)
        if tableau.run_phase_one() > 0:
            return Solution(Status.INFEASIBLE, exact=True, ray=_exact_array(tableau.multipliers()))
        if not tableau.run_phase_two():
            return Solution(Status.UNBOUNDED, exact=True)
        return self._optimum(tableau.point(), tableau.multipliers(), ())


class _Tableau:
    """Dense tableau over split variables, logicals and one artificial for each row.

    The artificial columns start as the identity, so at any time they hold the inverse
    of the basis matrix, and the row multipliers are read off their reduced costs.
    """

    def __init__(self, form: _StandardForm) -> None:
        self.form = form
        self.sign = np.array([flint.fmpq(-1 if b < 0 else 1) for b in form.rhs], dtype=object)
        free = sorted(form.program.free)
        logical = [i for i, s in enumerate(form.program.senses) if s != "="]
        columns = [form.matrix, -form.matrix[:, free]]
        columns += [form.column(form.columns + i)[:, None] for i in logical]
        self.free = free
        structural = np.concatenate(columns, axis=1) * self.sign[:, None]
        self.first_artificial = structural.shape[1]
        identity = np.array(
            [[flint.fmpq(int(i == j)) for j in range(form.rows)] for i in range(form.rows)], dtype=object
        ).reshape(form.rows, form.rows)
        self.body = np.concatenate([structural, identity, (form.rhs * self.sign)[:, None]], axis=1)
        self.basis = [self.first_artificial + i for i in range(form.rows)]
        self.objective: Array = np.empty(0, dtype=object)

    def run_phase_one(self) -> Any:
        cost = [_ZERO] * self.first_artificial + [flint.fmpq(1)] * self.form.rows
        self._price(cost)
        self._pivot_until_optimal(self.body.shape[1] - 1)
        infeasibility = -self.objective[-1]
        if infeasibility == 0:
            self._drive_out_artificials()
        return infeasibility

    def run_phase_two(self) -> bool:
        padding = self.first_artificial - self.form.columns - len(self.free)
        cost = [*self.form.cost, *(-self.form.cost[self.free]), *[_ZERO] * (padding + self.form.rows)]
        self._price(cost)
        return self._pivot_until_optimal(self.first_artificial)

    def point(self) -> Array:
        split = np.full(self.first_artificial, _ZERO, dtype=object)
        for row, j in enumerate(self.basis):
            if j < self.first_artificial:
                split[j] = self.body[row, -1]
        x = split[: self.form.columns].copy()
        for k, j in enumerate(self.free):
            x[j] -= split[self.form.columns + k]
        return x

    def multipliers(self) -> Array:
        """y with reduced cost of artificial i = cost_i − sign_i y_i."""
        tail = self.objective[self.first_artificial : -1]
        costs = self.artificial_cost
        return np.asarray((costs - tail) * self.sign)

    def _price(self, cost: list[Any]) -> None:
        row = np.array([*cost, _ZERO], dtype=object)
        self.artificial_cost = row[self.first_artificial : -1].copy()
        for i, j in enumerate(self.basis):
            if cost[j] != 0:
                row = row - cost[j] * self.body[i]
        self.objective = row

    def _pivot_until_optimal(self, last: int) -> bool:
        while True:
            entering = next((j for j in range(last) if self.objective[j] < 0), None)
            if entering is None:
                return True
            ratios = [
                (self.body[i, -1] / self.body[i, entering], self.basis[i], i)
                for i in range(len(self.basis))
                if self.body[i, entering] > 0
            ]
            if not ratios:
                return False
            self._pivot(min(ratios)[2], entering)

    def _pivot(self, row: int, column: int) -> None:
        self.body[row] = self.body[row] / self.body[row, column]
        for i in range(len(self.basis)):
            if i != row and self.body[i, column] != 0:
                self.body[i] = self.body[i] - self.body[i, column] * self.body[row]
        if self.objective[column] != 0:
            self.objective = self.objective - self.objective[column] * self.body[row]
        self.basis[row] = column

    def _drive_out_artificials(self) -> None:
        """A basic artificial at zero leaves, unless its row is redundant; then it stays at zero."""
        for row, j in enumerate(self.basis):
            if j >= self.first_artificial:
                column = next((k for k in range(self.first_artificial) if self.body[row, k] != 0), None)
                if column is not None:
                    self._pivot(row, column)


def _rationals(values: Array) -> Array:
    return object_array(fmpq(v) for v in fractions(values))


def _exact_array(values: Array) -> Array:
    return object_array(map(exact, values))
