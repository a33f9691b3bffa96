"""The chain of reductions, in the order in which a problem meets them."""

from __future__ import annotations

from sfumato.design.merged import EQUAL_ROWS
from sfumato.design.problem import DOMINATED_ACTIONS, FEASIBILITY
from sfumato.design.symmetry import SYMMETRIES

REDUCTIONS = (DOMINATED_ACTIONS, EQUAL_ROWS, SYMMETRIES)
"""Each leaves the optimum as it is."""

RESTATEMENTS = (FEASIBILITY,)
"""These ask another question about the same mechanisms, whose answer is a part of one to the whole."""
