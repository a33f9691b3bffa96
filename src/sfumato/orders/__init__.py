"""WHICH tells more: refinement (the sufficiency order) and transport between hypers."""

from sfumato.orders.refinement import Factor, Separation, refines
from sfumato.orders.transport import Transport, hyper_distance, hyper_refines, kantorovich, loss_lipschitz

__all__ = [
    "Factor",
    "Separation",
    "Transport",
    "hyper_distance",
    "hyper_refines",
    "kantorovich",
    "loss_lipschitz",
    "refines",
]
