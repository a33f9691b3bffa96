"""Mechanisms that several tests know by heart."""

from __future__ import annotations

from fractions import Fraction

import sfumato as sf

__all__ = ["random_response", "truncated_geometric"]


def truncated_geometric(n: int, alpha: Fraction) -> sf.Channel:
    """On the line 0, …, n − 1, exact."""
    edge, inside = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
    rows = [[(edge if y in (0, n - 1) else inside) * alpha ** abs(x - y) for y in range(n)] for x in range(n)]
    return sf.Channel(range(n), rows)


def random_response(n: int, elsewhere: Fraction) -> sf.Channel:
    """Weight 1 on the secret and ``elsewhere`` on each other value: α for the mechanism, 1/α for its dual."""
    total = 1 + (n - 1) * elsewhere
    return sf.Channel(range(n), [[(1 if x == y else elsewhere) / total for y in range(n)] for x in range(n)])
