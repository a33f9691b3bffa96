"""Every public function, constructor and method, found in the lists of names themselves.

A room is public when ``import sfumato`` offers it, or when it is a package whose ``__all__`` the reference documents.
A class counts with its constructor where one is written or checked (``__init__``, ``__post_init__``), and with its
public methods. What a record's generated constructor stores is not judged: functions return records, and people do
not build them. What takes no argument cannot be given a wrong one. The programs of ``sfumato.lp`` take arrays that the
rooms above build; who writes one by hand is trusted to know its form.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import sfumato as sf

__all__ = ["WITH_PEERS", "public_callables"]

WITH_PEERS = ("opendp_measurement", "opendp_rows", "privacy_loss", "worst_privacy_loss")
"""What hands over to packages of the extra ``peers``."""

ROOMS = ("certify", "channels", "design", "design.compatibility", "losses", "measures", "mechanisms", "orders",
         "privacy", "spaces")  # fmt: skip


def public_callables() -> dict[str, Callable[..., Any]]:
    """By the name under which it is first met; what has two names is listed once."""
    found: dict[str, Callable[..., Any]] = {}
    seen: set[int] = set()
    for room in (sf, *(import_module(f"sfumato.{name}") for name in ROOMS)):
        prefix = room.__name__.removeprefix("sfumato").removeprefix(".")
        for name, value in _members(room, f"{prefix}." if prefix else ""):
            if id(value) not in seen:
                seen.add(id(value))
                found.update(_calls(name, value))
    return found


def _members(room: ModuleType, prefix: str) -> Iterator[tuple[str, Any]]:
    values = {name: getattr(room, name) for name in room.__all__}
    yield from ((f"{prefix}{name}", value) for name, value in values.items() if callable(value))
    for name, value in values.items():
        if isinstance(value, ModuleType):
            yield from _members(value, f"{prefix}{name}.")


def _calls(name: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if not inspect.isclass(value):
        if inspect.signature(value).parameters:
            yield name, value
        return
    if issubclass(value, BaseException | enum.Enum) or getattr(value, "_is_protocol", False):
        return
    if not _is_record(value) and inspect.signature(value).parameters:
        yield name, value
    for method in dir(value):
        static = inspect.getattr_static(value, method)
        own = isinstance(static, classmethod) or (
            isinstance(static, FunctionType) and len(inspect.signature(static).parameters) > 1
        )
        if own and not method.startswith("_") and getattr(value, method).__module__.startswith("sfumato"):
            yield f"{name}.{method}", getattr(value, method)


def _is_record(kind: type) -> bool:
    """Whether all its constructor does is to store what it is given."""
    if issubclass(kind, tuple):
        return True
    initialise = vars(kind).get("__init__")
    generated = isinstance(initialise, FunctionType) and initialise.__code__.co_filename == "<string>"
    return generated and not hasattr(kind, "__post_init__")
