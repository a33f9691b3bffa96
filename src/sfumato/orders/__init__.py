"""WHICH tells more: refinement (the sufficiency order) and transport between hypers."""

from sfumato.orders.maximal import Hasse, hasse, maximal_channels
from sfumato.orders.refinement import Factor, SeparatingConsumer, refines
from sfumato.orders.transport import Transport, hyper_distance, hyper_refines, kantorovich, loss_lipschitz

__all__ = [
    "Factor",
    "Hasse",
    "SeparatingConsumer",
    "Transport",
    "hasse",
    "hyper_distance",
    "hyper_refines",
    "kantorovich",
    "loss_lipschitz",
    "maximal_channels",
    "refines",
]
