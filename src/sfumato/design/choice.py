"""Which solver: the first choice for a problem, and who helps where it misses its aim. All reasons are measured ones.

What a solver takes is asked of its record (:mod:`sfumato.design.solvers.registry`); here is only what is faster.
"""

from __future__ import annotations

import numpy as np

from sfumato.design.merged import has_equal_rows
from sfumato.design.problem import Problem
from sfumato.design.solvers import SOLVERS, Solver, gpu_is_there
from sfumato.design.symmetry import symmetry
from sfumato.lp.cone.near import first_losses
from sfumato.watch import Watch

# Up to so many variables rationals take a second at most.
_EXACT_VARIABLES = 100
# Up to so many variables column generation takes a minute at most.
_COLUMN_VARIABLES = 3000
# Below so many variables the processor is as fast as a GPU.
_GPU_VARIABLES = 40_000
# From so many variables on, with so few pairs for each secret, a GPU is fastest at streaming. Measured on an H200 on
# Manhattan grids: 900 secrets in 7 s by factors and 46 s by streams, 2,500 in 91 s and 22 s; 10,000 with 20 outputs in
# 14 s by factors, where streams are still off by 6 % after 10,000 iterations.
_STREAMED_VARIABLES, _STREAMED_PAIRS = 2_000**2, 4
# From so many secrets on it pays to look at near actions only, and from the second number on even where most secrets
# are outweighed: their rows follow others, and bounds are kept by many peaks in the end. 200 towns of uneven size took
# 27 s, and 11 s with all actions; 300 of them 43 s and 60 s, a grid of 256 with smooth weights 4 s and 20 s.
_NEAR_SECRETS, _NEAR_SECRETS_OUTWEIGHED = 150, 250
# It pays for shares of near actions up to the first number, and up to the second where there is no symmetry. On two
# cores it took a third to two thirds of the time of all actions for cities with shares of 0.07 to 0.12, from 0.18 on up
# to twice as long, and several times as long where the method for all actions could make use of symmetries.
_NEAR_SHARE, _NEAR_SHARE_ASYMMETRIC = 0.06, 0.15
# Pairs times columns that the interior-point method gets through in minutes.
_INTERIOR_WORK = 2 * 10**8

# Interior points do not reliably reach a smaller gap; a simplex does, and takes seconds for so many constraints.
_INTERIOR_GAP, _SIMPLEX_CONSTRAINTS = 1e-7, 20_000


def choose(problem: Problem, watch: Watch | None = None) -> Solver:
    """Rationals where they are quick, a GPU where there is one and the work is worth it, else the processor.

    To choose it may have to look for symmetries, which takes a part of the time on the watch.
    """
    n, m = problem.shape
    variables = n * m + m * sum(map(len, problem.events))
    exact, highs, interior = SOLVERS["exact"], SOLVERS["highs"], SOLVERS["interior"]
    if variables <= _EXACT_VARIABLES and exact.accepts(problem):
        return exact
    # secrets with equal rows cannot be merged where limits look at each of them
    cramped = interior.needs_room and problem.limits and has_equal_rows(problem)
    if cramped or not interior.accepts(problem):
        return highs
    on_processor = variables < _GPU_VARIABLES or not gpu_is_there()
    if on_processor and SOLVERS["interior-near"].accepts(problem) and _few_are_near(problem, watch):
        return SOLVERS["interior-near"]
    if on_processor:
        return interior
    streams = variables >= _STREAMED_VARIABLES and len(problem.privacy.space.pairs.first) <= _STREAMED_PAIRS * n
    return SOLVERS["first-order" if streams and SOLVERS["first-order"].accepts(problem) else "interior-gpu"]


def _few_are_near(problem: Problem, watch: Watch | None) -> bool:
    """Whether few actions cost a secret less than it loses by exponential noise; only these can have a price."""
    n = len(problem.privacy.space)
    if n < _NEAR_SECRETS or problem.privacy.space.edges is not None:
        return False
    if n < _NEAR_SECRETS_OUTWEIGHED and _outweighed(problem) > 1 / 2:
        return False
    cost = problem.float_cost
    share = float((cost < first_losses(cost, problem.privacy.log_bounds)[:, None]).mean())
    return share <= _NEAR_SHARE or (share <= _NEAR_SHARE_ASYMMETRIC and symmetry(problem, watch) is None)


def _outweighed(problem: Problem) -> float:
    """The share of secrets x that another one outweighs beyond what is promised: π_z > e^{d(x, z)} π_x."""
    weights = problem.prior.float_weights
    return float(((weights * np.exp(-problem.privacy.log_bounds)).max(axis=1) > weights).mean())


def quick_try(problem: Problem, solver: Solver) -> Solver | None:
    """Who solves a tiny problem before functions could be compiled for the solver that was chosen."""
    tiny = problem.shape[0] * problem.shape[1] <= _EXACT_VARIABLES
    return SOLVERS["highs"] if solver.compiles and tiny else None


def with_less_memory(problem: Problem, solver: Solver) -> Solver | None:
    """Who may solve a problem for which a solver has no memory: the first that is installed.

    Factors at peaks are small; streams need none at all, and are the quicker ones where there is a GPU for them.
    """
    names = ("first-order",) if gpu_is_there() or solver.name == "interior-near" else ("interior-near", "first-order")
    others = [SOLVERS[name] for name in names] if solver.keeps_factors else []
    return next((other for other in others if other.installed and other.accepts(problem)), None)


def successor(problem: Problem, solver: Solver) -> Solver | None:
    """Who comes closer where a solver has ended and the gap is still too wide.

    Column generation finishes what rounding errors have stopped; actions that are not near may matter after all.
    """
    n, m = problem.shape
    if solver.refines:
        other, affordable = SOLVERS["column-generation"], n * m <= _COLUMN_VARIABLES
    else:
        other, affordable = SOLVERS["interior"], solver.keeps_factors and n * n * m <= _INTERIOR_WORK
    return other if affordable and other.accepts(problem) else None


def to_a_gap(problem: Problem, tolerance: float) -> Solver:
    """Who solves a program with a worst case to a gap, however small."""
    constraints = len(problem.ordered_pairs[0]) * problem.shape[1]
    close = tolerance < _INTERIOR_GAP and constraints <= _SIMPLEX_CONSTRAINTS
    return SOLVERS["highs"] if close else quick_try(problem, SOLVERS["interior"]) or SOLVERS["interior"]


def accepting(problem: Problem, solver: Solver) -> Solver:
    """A solver where it accepts a problem, else the first that does."""
    return next(one for one in (solver, SOLVERS["interior"], SOLVERS["highs"]) if one.accepts(problem))
