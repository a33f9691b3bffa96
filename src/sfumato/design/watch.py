"""How long a search may take, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

__all__ = ["Watch"]


@dataclass(frozen=True)
class Watch:
    """When a search began and how long it may take."""

    started: float
    limit: float | None

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self.started

    @property
    def left(self) -> float | None:
        """Seconds that remain, a little even when none do; None without a limit."""
        return None if self.limit is None else max(self.limit - self.spent, 1e-3)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.limit is not None and self.spent > self.limit
