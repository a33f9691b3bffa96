"""Spaces named on the command line: ``line:6``, ``grid:3,3``, ``hamming:3``."""

from __future__ import annotations

from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.spaces import SPACES, FiniteSpace

__all__ = ["space_from_text"]

_BY_NUMBERS = ("line", "grid", "discrete", "hamming", "cycle", "star", "complete_bipartite", "count_query", "sum_query",
               "k_count_query")  # fmt: skip


def space_from_text(text: str) -> FiniteSpace:
    """The space of a name and whole numbers, such as ``grid:3,3``."""
    name, _, numbers = text.partition(":")
    if name not in _BY_NUMBERS:
        raise NotSupported(f"space {name!r}", [f"{known}:…" for known in _BY_NUMBERS])
    try:
        sizes = [int(part) for part in numbers.split(",")]
    except ValueError:
        raise InvalidInput(f"{shown(text)} is no space: write a name and whole numbers, such as grid:3,3") from None
    try:
        return SPACES[name](*sizes)
    except TypeError:
        raise InvalidInput(f"{name} does not take {len(sizes)} numbers") from None
