"""WHAT is promised: privacy types, whether a channel keeps one, and what a type is made of."""

from sfumato.privacy import predicates, satisfaction, types
from sfumato.privacy.axioms import AxiomReport, satisfies_axioms
from sfumato.privacy.decomposition import *  # types has them too; type checkers follow one star
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_definitions import (
    Breach,
    Definition,
    breaks,
    k_anonymity,
    k_of_n_outputs,
    k_of_n_pairs,
    mixture,
    probabilistic,
    strict,
)
from sfumato.privacy.predicates_satisfaction import BrokenEvent, satisfies_predicate
from sfumato.privacy.promise import rational_power
from sfumato.privacy.ratios import ratio_bounds, together_private
from sfumato.privacy.regular import *
from sfumato.privacy.satisfaction import *
from sfumato.privacy.tradeoff import TradeOff, smallest_delta, smallest_epsilon_at, tradeoff, worst_tradeoff
from sfumato.privacy.type import PrivacyType
from sfumato.privacy.types import *

__all__ = [
    "AxiomReport",
    "Breach",
    "BrokenEvent",
    "Definition",
    "Predicate",
    "PrivacyType",
    "TradeOff",
    "breaks",
    "k_anonymity",
    "k_of_n_outputs",
    "k_of_n_pairs",
    "mixture",
    "predicates",
    "probabilistic",
    "ratio_bounds",
    "rational_power",
    "satisfies_axioms",
    "satisfies_predicate",
    "smallest_delta",
    "smallest_epsilon_at",
    "strict",
    "together_private",
    "tradeoff",
    "types",
    "worst_tradeoff",
]
__all__ += satisfaction.__all__ + types.__all__
