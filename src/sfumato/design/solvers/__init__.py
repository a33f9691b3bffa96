"""Ways to the optimum, all behind one interface: a problem and a tolerance in, a matrix and multipliers out."""

from collections.abc import Callable

from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.design.solvers.blocks import Trail, gpu_is_there, solve_in_batches, solve_in_blocks
from sfumato.design.solvers.columns import solve_by_columns
from sfumato.design.solvers.first_order import solve_by_first_order
from sfumato.design.solvers.linear import solve_exactly, solve_with_highs
from sfumato.design.solvers.peaks import solve_by_peaks

__all__ = ["SOLVERS", "Answer", "Multipliers", "Trail", "gpu_is_there"]

SOLVERS: dict[str, Callable[..., Answer]] = {
    "exact": solve_exactly,
    "highs": solve_with_highs,
    "blocks": solve_in_blocks,
    "batched": solve_in_batches,
    "columns": solve_by_columns,
    "first-order": solve_by_first_order,
    "peaks": solve_by_peaks,
}
"""Every solver by name."""
