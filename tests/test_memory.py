"""Memory that is there: asked before anything large is built, and one error where an allocation fails all the same."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from sfumato import memory
from sfumato.errors import NotSupported, TooLarge
from sfumato.memory import check_memory, free_memory, refusing, room


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with eight GiB to spare, and no container."""
    (tmp_path / "meminfo").write_text("MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    return tmp_path


def test_the_machine_and_the_container_both_set_a_limit(machine: Path) -> None:
    assert free_memory() == 2**33
    (machine / "memory.max").write_text("max\n")
    (machine / "memory.current").write_text("1000\n")
    assert free_memory() == 2**33
    (machine / "memory.max").write_text(f"{2**31}\n")
    (machine / "memory.current").write_text(f"{2**30}\n")
    assert free_memory() == 2**30
    assert room() == int(0.8 * 2**30)
    (machine / "memory.current").write_text(f"{2**32}\n")  # more than the limit, for a moment
    assert free_memory() == 0


def test_containers_of_the_first_kind(machine: Path) -> None:
    (machine / "memory").mkdir()
    (machine / "memory" / "memory.limit_in_bytes").write_text(f"{2**29}\n")
    (machine / "memory" / "memory.usage_in_bytes").write_text("0\n")
    assert free_memory() == 2**29


def test_systems_that_do_not_tell(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "meminfo").unlink()
    assert free_memory() > 2**20  # all there is, free or not

    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", unknown)
    assert free_memory() == 2**34


def test_what_does_not_fit_is_refused_with_its_size(machine: Path) -> None:
    check_memory(6 * 2**30, "a table", ["a smaller one"])
    with pytest.raises(TooLarge) as caught:
        check_memory(24e9, "a table", ["a smaller one", "none at all"])
    expected = "a table needs about 22.4 GiB of memory, and 6.4 GiB can be used; try a smaller one, or none at all"
    assert str(caught.value) == expected
    assert (caught.value.bytes, caught.value.available) == (int(24e9), room())
    assert isinstance(caught.value, NotSupported)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == expected and again.bytes == caught.value.bytes
    with pytest.raises(TooLarge, match="10 MiB can be used"):
        check_memory(2**25, "a table on a device", [], available=10 * 2**20)


class OutOfMemoryError(RuntimeError):
    """What torch raises, by name and kind."""


def test_an_allocation_that_fails_becomes_our_error() -> None:
    with (
        pytest.raises(TooLarge, match="this needs more memory than there is; try less"),
        refusing("this", ["less"]),
    ):
        np.empty(2**55)
    with pytest.raises(TooLarge, match="more memory than there is"), refusing("this", ["less"]):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    with pytest.raises(RuntimeError, match="other"), refusing("this", ["less"]):
        raise RuntimeError("other")
    with pytest.raises(TooLarge, match="a table needs about 1 GiB"), refusing("this", ["less"]):
        raise TooLarge("a table", 2**30, 2**20)
