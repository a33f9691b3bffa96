"""Help that shows a flag as a flag: ``--json``, and not ``--json <bool>``, which reads as if a value came after it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


class Command(TyperCommand):
    """A command whose help names no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, ``--help`` included."""
        return _plain(super().get_params(ctx))


class Group(TyperGroup):
    """The same for what has commands below it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, ``--help`` included."""
        return _plain(super().get_params(ctx))


def _plain(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
