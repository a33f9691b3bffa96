"""Ways to the optimum, all behind one interface: a problem and a tolerance in, a matrix and multipliers out."""

from sfumato.design.answer import Answer, Multipliers
from sfumato.design.solvers.interior import Trail
from sfumato.design.solvers.registry import SOLVERS, Solver, solver_name
from sfumato.lp.cone.arrays_backend import gpu_is_there

__all__ = ["SOLVERS", "Answer", "Multipliers", "Solver", "Trail", "gpu_is_there", "solver_name"]
