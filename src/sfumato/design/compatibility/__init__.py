"""Privacy-compatibility: which ε does an accuracy cost, and are there accuracies that no ε buys?"""

from sfumato.design.compatibility.compatible import Evidence, Impossible, privacy_compatible
from sfumato.design.compatibility.curves import Cell, TradeOffGrid, tradeoff_grid
from sfumato.design.compatibility.exponential import (
    Exponential,
    TheoremBound,
    best_measure,
    least_exponential,
    net_measure,
    theorem_34,
)
from sfumato.design.compatibility.families import (
    Family,
    Net,
    Packing,
    ball,
    countable_discrete,
    covering,
    cube,
    finite,
    interval,
    ranges,
    real_line,
    samples,
    sup_ball,
    thresholds,
)
from sfumato.design.compatibility.packing import PackingBound, packing_bound
from sfumato.design.compatibility.star import DatabaseSize, EpsilonStar, database_size, epsilon_star
from sfumato.design.compatibility.utility import (
    FiniteFunction,
    chance_of_missing,
    finite_function,
    has_utility,
    normalised,
)

TradeOff = TradeOffGrid
"""The earlier name, for one more version."""

__all__ = [
    "Cell",
    "DatabaseSize",
    "EpsilonStar",
    "Evidence",
    "Exponential",
    "Family",
    "FiniteFunction",
    "Impossible",
    "Net",
    "Packing",
    "PackingBound",
    "TheoremBound",
    "TradeOff",
    "TradeOffGrid",
    "ball",
    "best_measure",
    "chance_of_missing",
    "countable_discrete",
    "covering",
    "cube",
    "database_size",
    "epsilon_star",
    "finite",
    "finite_function",
    "has_utility",
    "interval",
    "least_exponential",
    "net_measure",
    "normalised",
    "packing_bound",
    "privacy_compatible",
    "ranges",
    "real_line",
    "samples",
    "sup_ball",
    "theorem_34",
    "thresholds",
    "tradeoff_grid",
]
