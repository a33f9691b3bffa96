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
from sfumato.memory import check_memory
from sfumato.numbers import Array, exact, fmpq, fractions, object_array
from sfumato.watch import TimeIsUp, Watch

_ZERO = flint.fmpq(0)
_SECONDS_A_PRODUCT = 5e-9  # Times the cube of the size: twice what FLINT took for 200 to 600 short rationals.
_BYTES_A_RATIONAL = 80  # A pointer, an object, and numbers of one word; longer ones take more.
_INSTEAD = ("another solver", "fewer secrets or outputs")


def solve_rationals(program: LinearProgram, watch: Watch | None = None) -> Solution:
    """Solve over the rationals: the optimum, or an exact Farkas ray.

    Raises
    ------
    TimeIsUp
        Where the watch says so first.
    TooLarge
        Where the basis that floats propose is wrong, and the tableau that would put it right does not fit.
    """
    watch = watch or Watch()
    if not program.exact:
        raise InvalidInput("an exact solution needs a program over the rationals")
    standard = _StandardForm(program, watch)
    try:
        proposal = solve_floats(program, watch).basis
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

    def __init__(self, program: LinearProgram, watch: Watch | None = None) -> None:
        self.program, self.watch = program, watch or Watch()
        self.rows, self.columns = program.shape
        entries = zip(program.rows.tolist(), program.columns.tolist(), fractions(program.values), strict=True)
        self.entries = [(i, j, fmpq(value)) for i, j, value in entries]
        self.cost = _rationals(program.cost)
        self.rhs = _rationals(program.rhs)

    def matrix(self) -> Array:
        """A as a table."""
        table = np.full((self.rows, self.columns), _ZERO, dtype=object)
        for i, j, value in self.entries:
            table[i, j] += value
        return table

    def confirm(self, basis: tuple[int, ...]) -> Solution | None:
        """The exact solution that belongs to a basis, if that basis is optimal.

        A row whose logical variable is basic has multiplier 0 and says what that variable is. So only the other rows
        are solved for the structural variables, as many as there are of these.
        """
        chosen = [j for j in basis if j < self.columns]
        slack = {j - self.columns for j in basis if j >= self.columns}
        tight = [i for i in range(self.rows) if i not in slack]
        place, line = {j: k for k, j in enumerate(chosen)}, {i: k for k, i in enumerate(tight)}
        size = len(chosen)
        if len(tight) != size:
            return None
        square = flint.fmpq_mat(size, size)
        for i, j, value in self.entries:
            if i in line and j in place:
                square[line[i], place[j]] += value
        if not self.watch.allows(_SECONDS_A_PRODUCT * size**3):
            raise TimeIsUp
        try:
            point = square.solve(flint.fmpq_mat(size, 1, [self.rhs[i] for i in tight])).entries()
            self.watch.check()
            prices = square.transpose().solve(flint.fmpq_mat(size, 1, [self.cost[j] for j in chosen])).entries()
        except ZeroDivisionError:
            return None
        primal, dual = np.full(self.columns, _ZERO, dtype=object), np.full(self.rows, _ZERO, dtype=object)
        primal[chosen], dual[tight] = object_array(point), object_array(prices)
        return self._optimum(primal, dual, basis) if self._is_optimal(primal, dual) else None

    def _is_optimal(self, primal: Array, dual: Array) -> bool:
        """Whether both are feasible; complementary they are."""
        left, reduced = self.rhs.copy(), self.cost.copy()
        for i, j, value in self.entries:
            left[i] -= value * primal[j]
            reduced[j] -= value * dual[i]
        for sense, rest, y in zip(self.program.senses, left, dual, strict=True):
            if (sense == "=" and rest != 0) or (sense == "<" and (rest < 0 or y > 0)):
                return False
            if sense == ">" and (rest > 0 or y < 0):
                return False
        free = self.program.free
        return all(x >= 0 or j in free for j, x in enumerate(primal)) and all(
            r == 0 if j in free else r >= 0 for j, r in enumerate(reduced)
        )

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
        form.watch.check()
        self.sign = np.array([flint.fmpq(-1 if b < 0 else 1) for b in form.rhs], dtype=object)
        free = sorted(form.program.free)
        logical = [i for i, s in enumerate(form.program.senses) if s != "="]
        width = form.columns + len(free) + len(logical) + form.rows + 1
        what = f"an exact tableau of {form.rows} × {width} rationals"
        check_memory(_BYTES_A_RATIONAL * form.rows * width, what, _INSTEAD)
        matrix, units = form.matrix(), np.full((form.rows, len(logical)), _ZERO, dtype=object)
        for k, i in enumerate(logical):
            units[i, k] = flint.fmpq(-1 if form.program.senses[i] == ">" else 1)
        self.free = free
        structural = np.concatenate([matrix, -matrix[:, free], units], axis=1) * self.sign[:, None]
        self.first_artificial = structural.shape[1]
        identity = np.where(np.eye(form.rows, dtype=bool), flint.fmpq(1), _ZERO)
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
            self.form.watch.check()
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
