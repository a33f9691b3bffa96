"""Every public function, constructor and method, found in the lists of names themselves.

A room is public when ``import sfumato`` offers it. What two rooms offer is named by the smaller one.
A class counts with its constructor where one is written or checked (``__init__``, ``__post_init__``), and with its
public methods. What a record's generated constructor stores is not judged: functions return records, and people do
not build them. What takes no argument cannot be given a wrong one. The programs of ``sfumato.lp`` take arrays that the
rooms above build; who writes one by hand is trusted to know its form.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import sfumato as sf

__all__ = ["WITH_PEERS", "public_callables"]

WITH_PEERS = (
    "release.opendp_measurement", "release.opendp_rows", "release.privacy_loss", "release.worst_privacy_loss",
    "spaces.from_degrees", "spaces.to_degrees",
)  # fmt: skip
"""What hands over to packages of the extra ``peers``."""

ROOMS = ("types", "universal", "compatibility", "continuous", "predicates", "objectives")
"""Rooms inside of rooms, which come first: what they offer is known by their name. ``errors`` are not called."""


def public_callables() -> dict[str, Callable[..., Any]]:
    """By the name under which it is first met; what has two names is listed once."""
    callables: dict[str, Callable[..., Any]] = {}
    seen: set[int] = set()
    values = {name: getattr(sf, name) for name in sf.__all__ if name != "errors"}
    rooms = [name for name, value in values.items() if isinstance(value, ModuleType) and name not in ROOMS]
    for name, value in (
        *((name, value) for name, value in values.items() if not isinstance(value, ModuleType)),
        *(member for room in (*ROOMS, *rooms) for member in _members(values[room], f"{room}.")),
    ):
        if id(value) not in seen:
            seen.add(id(value))
            callables.update(_calls(name, value))
    return callables


def _members(room: ModuleType, prefix: str) -> Iterator[tuple[str, Any]]:
    values = {name: getattr(room, name) for name in room.__all__}
    modules = {name: value for name, value in values.items() if isinstance(value, ModuleType)}
    yield from ((f"{prefix}{name}", value) for name, value in values.items() if callable(value) and name not in modules)
    for name, value in modules.items():
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
