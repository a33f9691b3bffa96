"""Rooms that are called like functions; the front door has more of it in tests/house/test_front_door.py."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import pytest

from sfumato.rooms import CallableRoom, callable_room


def test_a_room_is_called_with_the_function_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    room = ModuleType("attic.measure")
    room.measure = lambda x, *, unit="m": f"{x} {unit}"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "attic.measure", room)
    callable_room("attic.measure")
    assert isinstance(room, CallableRoom)
    assert room(3, unit="km") == "3 km"
    assert str(room.__signature__) == "(x, *, unit='m')"
    assert pickle.loads(pickle.dumps(room)) is room
