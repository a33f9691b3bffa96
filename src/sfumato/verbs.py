"""Verbs that nouns offer as methods, although the verbs' rooms lie below them in the house.

``mechanism.release(table, "home")`` is a method of a noun that knows nothing of releases. It asks the front door, which
knows every public name and loads it on first use, for the verb; the front door lends them when the package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_DOORS: list[Callable[[str], Any]] = []


def lend(door: Callable[[str], Any]) -> None:
    """Let nouns use the public names that a function gives."""
    _DOORS[:] = [door]


def verb(name: str) -> Callable[..., Any]:
    """A public function by its name."""
    function: Callable[..., Any] = _DOORS[0](name)
    return function
