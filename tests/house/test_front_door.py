"""The front door: at most ninety names, a short help, rooms that no function hides."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sfumato as sf

SOURCE = Path(sf.__file__).parent
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
INNER = ("compatibility", "continuous", "objectives", "predicates", "types", "universal")


def test_at_most_ninety_names() -> None:
    assert len(sf.__all__) <= 90
    assert dir(sf) == sf.__all__ == sorted(set(sf.__all__))


def test_a_star_brings_the_same_names() -> None:
    names: dict[str, object] = {}
    exec("from sfumato import *", names)
    assert set(sf.__all__) == names.keys() - {"__builtins__"}


def test_help_begins_with_what_the_package_does_and_is_short() -> None:
    page = pydoc.plain(pydoc.render_doc(sf)).splitlines()
    assert len(page) <= 250
    assert any("Design, prove and apply mechanisms" in line for line in page[:5])
    text = "\n".join(page)
    assert [name for name in sf.__all__ if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("room", [*ROOMS, *INNER])
def test_what_is_one_step_in_is_not_at_the_door_too(room: str) -> None:
    module = getattr(sf, room, None) or importlib.import_module(f"sfumato.{room}")
    inside = {name for name in getattr(module, "__all__", ()) if not isinstance(getattr(module, name), ModuleType)}
    assert {name for name in inside - set(sf.__all__) if not isinstance(getattr(sf, name, sf), ModuleType)} == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sf.no_such_name


@pytest.mark.parametrize("room", ROOMS)
def test_no_function_hides_a_room(room: str) -> None:
    module = importlib.import_module(f"sfumato.{room}")
    names: dict[str, object] = {}
    exec(f"import sfumato.{room} as first\nfrom sfumato import {room} as second", names)
    assert isinstance(module, ModuleType)
    assert names["first"] is names["second"] is getattr(sf, room) is module
    assert module.__doc__


@pytest.mark.parametrize("room", INNER)
def test_rooms_inside_of_rooms_are_one_step_in(room: str) -> None:
    assert room in sf.__all__
    assert isinstance(getattr(sf, room), ModuleType)


@pytest.mark.parametrize("room", ["design", "report"])
def test_a_room_is_called_like_its_function(room: str) -> None:
    module = getattr(sf, room)
    assert inspect.signature(module) == inspect.signature(getattr(module, room))
    assert pickle.loads(pickle.dumps(module)) is module


@pytest.mark.parametrize("first", ["sf.design", "import sfumato.design", "from sfumato.design import calibrate"])
def test_calling_works_whatever_was_imported_first(first: str) -> None:
    program = (
        f"import sfumato as sf\n{first}\ns = sf.line(2)\n"
        "print(sf.design(sf.Prior.uniform(s), sf.losses.bin(s), sf.PrivacyType(s, alpha='1/2')).loss)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "1/3\n"


def test_the_door_loads_no_room() -> None:
    program = "import sys, sfumato; print(sorted(n for n in sys.modules if n.startswith(('sfumato.', 'numpy'))))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "['sfumato.rooms', 'sfumato.version']\n"
