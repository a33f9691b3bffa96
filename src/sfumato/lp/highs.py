"""The float backend: HiGHS, with its basis and rays kept."""

from __future__ import annotations

from math import floor, log2

import highspy
import numpy as np

from sfumato.errors import SolverError
from sfumato.lp.program import LinearProgram, Solution, Status
from sfumato.memory import check_memory
from sfumato.numbers import Array, floats
from sfumato.watch import TimeIsUp, Watch

# The tightest feasibility tolerance HiGHS accepts: a basis found at 1e-10 is more
# often the exactly optimal one, which the exact backend then only has to confirm.
_FEASIBILITY = 1e-10

# Measured on designs with 0.3 to 4 million entries, two in a row: 530 to 570 bytes an entry at the peak, in presolve.
_BYTES_A_ROW, _BYTES_A_COLUMN, _BYTES_AN_ENTRY = 500, 500, 300
_SECONDS_AN_ENTRY = 1e-6  # So long HiGHS does not look at its clock: taking over a program, and presolve.
_INSTEAD = ("another solver", "fewer outputs", "a coarser space")


def check_program(rows: int, columns: int, entries: int, what: str = "a linear program") -> None:
    """Refuse a program that HiGHS has no room for, before it is written down.

    Raises
    ------
    TooLarge
        With the size, and with methods that need less.
    """
    needed = _BYTES_A_ROW * rows + _BYTES_A_COLUMN * columns + _BYTES_AN_ENTRY * entries
    size = f"{rows} rows, {columns} variables and {entries} entries"
    check_memory(needed, f"{what} ({size}) for HiGHS", _INSTEAD)


def solve_floats(program: LinearProgram, watch: Watch | None = None) -> Solution:
    """Solve in floating point.

    ``basis`` lists the basic columns, row i's logical variable being numbered
    ``columns + i``.

    Raises
    ------
    TimeIsUp
        Where the watch says so first; HiGHS leaves nothing that is good for anything then.
    """
    watch = watch or Watch()
    check_program(*program.shape, len(program.values))
    watch.check()
    solver = highspy.Highs()
    for option, setting in {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": _FEASIBILITY,
        "dual_feasibility_tolerance": _FEASIBILITY,
    }.items():
        solver.setOptionValue(option, setting)
    costs, sides = _unit(program.cost), _unit(program.rhs)
    solver.passModel(_model(program, costs, sides))
    status = _run(solver, watch)
    if status != highspy.HighsModelStatus.kOptimal:
        # presolve cannot tell infeasible from unbounded (and HiGHS 1.15 takes one for the other)
        solver.setOptionValue("presolve", "off")
        solver.clearSolver()
        status = _run(solver, watch)
    if status == highspy.HighsModelStatus.kOptimal:
        solution = solver.getSolution()
        return Solution(
            Status.OPTIMAL,
            exact=False,
            value=float(solver.getInfo().objective_function_value) * costs * sides,
            primal=np.array(solution.col_value) * sides,
            dual=np.array(solution.row_dual) * costs,
            basis=_basis(solver.getBasis(), program.shape[1]),
        )
    if status == highspy.HighsModelStatus.kInfeasible:
        return Solution(Status.INFEASIBLE, exact=False, ray=_ray(solver, program))
    if status == highspy.HighsModelStatus.kUnbounded:
        return Solution(Status.UNBOUNDED, exact=False)
    raise SolverError(f"HiGHS ended with status {solver.modelStatusToString(status)}")


def _run(solver: highspy.Highs, watch: Watch) -> highspy.HighsModelStatus:
    """How a run ends; its clock counts all runs of a solver together."""
    left = watch.left
    if left is not None:
        left -= _SECONDS_AN_ENTRY * solver.getNumNz()
        if left <= 0:
            raise TimeIsUp
        solver.setOptionValue("time_limit", solver.getRunTime() + left)
    solver.run()
    status: highspy.HighsModelStatus = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kTimeLimit:
        raise TimeIsUp
    return status


def _unit(numbers: Array) -> float:
    """The power of 2 in which the largest is 1 to 2, if all are smaller: what HiGHS tolerates does not shrink along."""
    largest = float(np.abs(floats(numbers)).max(initial=0.0))
    return 2.0 ** floor(log2(largest)) if 0.0 < largest < 1.0 else 1.0


def _model(program: LinearProgram, costs: float, sides: float) -> highspy.HighsLp:
    """The program for HiGHS, costs and right sides in given units."""
    rows, columns = program.shape
    matrix = program.sparse().tocsc()
    rhs = floats(program.rhs) / sides
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = floats(program.cost) / costs
    lower = np.zeros(columns)
    lower[list(program.free)] = -highspy.kHighsInf
    model.col_lower_, model.col_upper_ = lower, np.full(columns, highspy.kHighsInf)
    senses = np.array(list(program.senses))
    model.row_lower_ = np.where(senses == "<", -highspy.kHighsInf, rhs)
    model.row_upper_ = np.where(senses == ">", highspy.kHighsInf, rhs)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model


def _basis(basis: highspy.HighsBasis, columns: int) -> tuple[int, ...]:
    basic = highspy.HighsBasisStatus.kBasic
    structural = [j for j, s in enumerate(basis.col_status) if s == basic]
    logical = [columns + i for i, s in enumerate(basis.row_status) if s == basic]
    return tuple(structural + logical)


def _ray(solver: highspy.Highs, program: LinearProgram) -> Array | None:
    """A Farkas ray with the signs of :class:`Solution`."""
    _, exists, ray = solver.getDualRay()
    if not exists:  # a row that contradicts itself is refused before any simplex iteration
        return solve_floats(_elastic(program)).dual
    values = np.array(ray)
    return values if values @ floats(program.rhs) > 0 else -values


def _elastic(program: LinearProgram) -> LinearProgram:
    """Least total violation of the rows: always solvable, its multipliers are a Farkas ray."""
    columns = program.shape[1]
    over = np.array([i for i, s in enumerate(program.senses) if s != ">"], dtype=np.int64)
    under = np.array([i for i, s in enumerate(program.senses) if s != "<"], dtype=np.int64)
    extra = len(over) + len(under)
    return LinearProgram(
        cost=np.concatenate([np.zeros(columns), np.ones(extra)]),
        rows=np.concatenate([program.rows, over, under]),
        columns=np.concatenate([program.columns, columns + np.arange(extra)]),
        values=np.concatenate([floats(program.values), -np.ones(len(over)), np.ones(len(under))]),
        senses=program.senses,
        rhs=floats(program.rhs),
        free=program.free,
    )
