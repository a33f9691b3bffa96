"""A table or figure of a paper, recomputed: what was printed, what we find, and why they differ where they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PaperTable:
    """One item of a paper.

    A row maps column names to values; a value that the paper prints too is a :func:`cell`. ``figure`` draws
    the item when it is called.
    """

    key: str
    title: str
    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()
    figure: Callable[[], Any] | None = None


def cell(printed: str, ours: Any) -> dict[str, Any]:
    """A printed value beside ours."""
    return {"printed": printed, "ours": ours, "agree": agree(printed, ours)}


def exact_cell(printed: Any, ours: Any) -> dict[str, Any]:
    """A printed fraction or word beside ours, which must be the same; a dash is nothing printed."""
    printed = str(printed)
    return {"printed": printed, "ours": ours, "agree": None if printed == "—" else printed == str(ours)}


def agree(printed: str, ours: Any) -> bool | None:
    """Whether a printed number is ours, rounded to as many digits; None where one of them is missing.

    Examples
    --------
    >>> agree("0.67", 2 / 3), agree("0.66", 2 / 3), agree("-", 2 / 3)
    (True, False, None)
    """
    if isinstance(ours, str) or not printed.replace(".", "").isdigit():
        return None
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - float(ours)) <= 0.5 * 10.0**-digits + 1e-12
