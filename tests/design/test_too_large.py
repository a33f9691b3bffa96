"""Programs whose factors do not fit into memory are left to the method that needs none."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import sfumato as sf
from sfumato.errors import NotSupported, TooLarge
from sfumato.lp import columns_method


def refuse(size: float, what: str, instead: Iterable[str], available: int | None = None) -> None:
    raise TooLarge(what, 2**40, 2**30, instead)


def test_auto_goes_on_without_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_method, "check_room", refuse)
    space = sf.grid(4, 4)
    asked = sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2")
    with pytest.raises(NotSupported, match="needs about 1 TiB of memory"):
        sf.design(*asked, solver="blocks")
    made = sf.design(*asked, tolerance=1e-2)
    assert made.method.startswith("first order")
    assert made.gap <= 1e-2
