"""What a file keeps of cells, and what it may not say."""

from __future__ import annotations

import builtins
import json
import pickle
from typing import Any

import numpy as np
import pytest
from shapely.geometry import box

import sfumato as sf
from sfumato.errors import MissingExtra
from sfumato.spaces import areas, h3_cells, square_cells
from sfumato.spaces.cells import ground_from_json

SPACES = {
    "h3": h3_cells((48.85, 2.34, 48.86, 2.36), 8),
    "squares": square_cells("48.85 N", "2.34 E", sides=(2, 1), step="1/2"),
    "areas": areas([box(2.34, 48.85, 2.35, 48.86), box(2.35, 48.85, 2.36, 48.86)], labels=["w", "e"]),
}
POINTS = np.random.default_rng(0).uniform((48.845, 2.335), (48.865, 2.365), (200, 2))


@pytest.mark.parametrize("kind", SPACES)
def test_cells_come_back_from_a_file(kind: str) -> None:
    for space in (SPACES[kind], SPACES[kind].restrict(SPACES[kind].labels[::-1][:2])):
        assert space.ground is not None and space.ground.cells is not None
        about = json.loads(json.dumps(space.ground.to_json()))
        again = ground_from_json(about, len(space), 2)
        assert again is not None and again.cells is not None
        assert again.earth == space.ground.earth and again.to_json() == about
        assert again.cells.locate(*POINTS.T).tolist() == space.ground.cells.locate(*POINTS.T).tolist()
        assert again.cells.words == space.ground.cells.words


@pytest.mark.parametrize("kind", SPACES)
def test_cells_travel_to_another_process(kind: str) -> None:
    space = SPACES[kind]
    assert space.ground is not None and space.ground.cells is not None
    found = space.ground.cells.locate(*POINTS.T)
    again = pickle.loads(pickle.dumps(space))
    assert again.ground.cells.locate(*POINTS.T).tolist() == found.tolist()


@pytest.mark.parametrize("kind", SPACES)
def test_outlines_hold_the_places(kind: str) -> None:
    space = SPACES[kind]
    assert space.ground is not None and space.ground.cells is not None and space.coordinates is not None
    for rings, place in zip(space.ground.cells.outlines(), space.coordinates, strict=True):
        assert (rings[0].min(axis=0) < place).all() and (place < rings[0].max(axis=0)).all()


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("h3", {"ids": ["8928308280fffff"]}),
        ("h3", {"ids": 7}),
        ("h3", {"resolution": 16}),
        ("h3", {"resolution": "8"}),
        ("squares", {"shape": [4]}),
        ("squares", {"shape": [0, 8]}),
        ("squares", {"shape": [1, 1]}),
        ("squares", {"south": "1e999999999"}),
        ("squares", {"south": 48.85}),
        ("squares", {"degrees": ["0", "1"]}),
        ("squares", {"places": [0, 1, 2, 3, 4, 5, 6, 6]}),
        ("squares", {"places": [0, 1, 2, 3, 4, 5, 6, 8]}),
        ("squares", {"places": [0.5] * 8}),
        ("squares", {"unit": 3}),
        ("areas", {"sizes": [1]}),
        ("areas", {"sizes": [1, -1]}),
        ("areas", {"sizes": [5, 6]}),
        ("areas", {"sizes": [10**12, 1]}),
        ("areas", {"wkb": "!"}),
        ("areas", {"kind": "circles"}),
    ],
)
def test_what_no_file_says(kind: str, changed: dict[str, Any]) -> None:
    space = SPACES[kind]
    assert space.ground is not None
    about = space.ground.to_json()
    with pytest.raises((ValueError, LookupError, TypeError)):
        ground_from_json({**about, "cells": {**about["cells"], **changed}}, len(space), 2)


@pytest.mark.parametrize("about", [7, {}, {"earth": "flat", "cells": None}, {"earth": "sphere", "cells": 7}])
def test_what_is_no_ground(about: Any) -> None:
    with pytest.raises(ValueError, match=r"ground|cells"):
        ground_from_json(about, 3, 2)
    with pytest.raises(ValueError, match="no longitudes"):
        ground_from_json({"earth": "sphere", "cells": None}, 3, 1)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in ("h3", "shapely", "geopandas", "pyproj"):
            raise ImportError(name)
        return genuine(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for call in (
        lambda: h3_cells((48.85, 2.34, 48.86, 2.36), 8),
        lambda: areas([{"type": "Polygon"}]),
        lambda: areas("tracts.geojson"),
    ):
        with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[geo\]'"):
            call()


@pytest.mark.parametrize("kind", SPACES)
def test_mechanisms_keep_their_cells(kind: str, tmp_path: Any) -> None:
    space = SPACES[kind]
    mechanism = sf.exponential(sf.PrivacyType(space, epsilon=1))
    sf.save(mechanism, tmp_path / "cells.sfm")
    again = sf.load(tmp_path / "cells.sfm")
    assert isinstance(again, sf.Mechanism)
    assert space.ground is not None and space.ground.cells is not None
    assert again.privacy.space.ground is not None and again.privacy.space.ground.cells is not None
    found = again.privacy.space.ground.cells.locate(*POINTS.T)
    assert found.tolist() == space.ground.cells.locate(*POINTS.T).tolist()
