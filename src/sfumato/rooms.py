"""Rooms that are called like functions, and verbs of rooms farther up that nouns offer as methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _SignatureOfFunction:
    """The signature of a room's function, which the class of rooms itself has not."""

    def __get__(self, room: CallableRoom | None, kind: type) -> Signature:
        if room is None:
            raise AttributeError("__signature__")
        return signature(room._function)


class CallableRoom(ModuleType):
    """A room that is called by its own name: ``sf.design(prior, loss, privacy)`` is ``sf.design.design(…)``.

    The guides say ``sf.design(…)`` and ``sf.report(…)``, while ``import sfumato.design`` has to give the room with all
    that is in it. A function with the name of its room would hide it, or would be hidden by it as soon as anything is
    imported from there; a room that can be called is both. It has the signature of its function, and is pickled by
    name, so that it can be handed to other processes as a function can.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of the room's name."""
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    __signature__ = _SignatureOfFunction()

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)


class _FrontDoor:
    """Names of the package, loaded when they are asked for; set by the package itself, which stands above all rooms."""

    def __init__(self) -> None:
        self.names: Callable[[str], Any] | None = None


_FRONT_DOOR = _FrontDoor()


def open_front_door(names: Callable[[str], Any]) -> None:
    """Let methods find the verbs that they delegate to."""
    _FRONT_DOOR.names = names


def at_front_door(name: str) -> Any:
    """A function of the front door.

    ``mechanism.release(…)`` delegates to a room above that of mechanisms. A room does not import what stands above it,
    so the door is handed down here, and the room of the function loads when the method is called.
    """
    if _FRONT_DOOR.names is None:
        raise RuntimeError("the package opens its front door when it is imported")
    return _FRONT_DOOR.names(name)


def callable_room(name: str) -> None:
    """Let the room of that name, which has a function of the same name in it, be called like the function."""
    sys.modules[name].__class__ = CallableRoom
