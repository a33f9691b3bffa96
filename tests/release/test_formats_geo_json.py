"""Members of features and collections: what makes a feature is released, anything else goes or stays by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from box_tables import box_mechanism
from hide_files import QUICK, points
from sfumato.errors import InvalidInput
from sfumato.release import release_file
from sfumato.release.places import Geometry
from sfumato.release.rows import BadRow
from sfumato.spaces import earth_box

HIDE = box_mechanism(earth_box(48, 2, sides=(10, 10), step=5), outputs=6)
TRUE = [2.0712345, 48.0523456]


def feature(**members: Any) -> dict[str, Any]:
    where = {"type": "Point", "coordinates": TRUE}
    return {"type": "Feature", "id": "a1", "properties": {"n": 1, "type": "home"}, "geometry": where} | members


def written(place: Path, features: list[dict[str, Any]], **members: Any) -> Path:
    if place.suffix == ".geojson":
        place.write_text(
            json.dumps({"type": "FeatureCollection"} | members | {"features": features}, ensure_ascii=False)
        )
    else:
        place.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in features))
    return place


def read(place: Path) -> list[dict[str, Any]]:
    text = place.read_text()
    if place.suffix == ".geojson":
        return list(json.loads(text)["features"])
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("ending", ["geojson", "geojsonl"])
@pytest.mark.parametrize("name", ["center", "place_name", "ce\u00e9nter", 'a"b', "geometry_name"])
def test_a_foreign_member_of_any_feature_is_refused_until_somebody_decides(
    ending: str, name: str, tmp_path: Path
) -> None:
    source = written(tmp_path / f"a.{ending}", [feature(), feature(), feature(**{name: TRUE})])
    target = tmp_path / f"b.{ending}"
    with pytest.raises(BadRow, match=r"row 3: the feature has .* beside its properties"):
        release_file(HIDE, source, target, Geometry())
    assert not target.exists()
    release_file(HIDE, source, target, Geometry(), drop=[name])
    assert all(set(one) == {"type", "id", "properties", "geometry"} for one in read(target))
    assert "2.0712" not in target.read_text() and read(target)[0]["properties"] == {"n": 1, "type": "home"}
    release_file(HIDE, source, target, Geometry(), stay=[name], overwrite=True)
    assert read(target)[2][name] == TRUE


def test_a_name_that_is_left_out_goes_from_features_and_properties_and_is_there(tmp_path: Path) -> None:
    source, target = written(tmp_path / "a.geojson", [feature(n=[1], bbox=[*TRUE, *TRUE])]), tmp_path / "b.geojson"
    release_file(HIDE, source, target, Geometry(), drop=["n", "type", "id"])
    (made,) = read(target)
    assert set(made) == {"type", "properties", "geometry"} and made["properties"] == {} and made["type"] == "Feature"
    with pytest.raises(InvalidInput, match="there is no 'm' to leave out"):
        release_file(HIDE, source, target, Geometry(), drop=["n", "m"], overwrite=True)


def test_members_of_a_collection_are_made_anew_or_refused(tmp_path: Path) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84", "of": TRUE}, "note": TRUE}
    known = {"name": "home of a1", "description": str(TRUE), "bbox": [*TRUE, *TRUE], "crs": crs}
    source, target = written(tmp_path / "a.geojson", [feature()], **known), tmp_path / "b.geojson"
    release_file(HIDE, source, target, Geometry())
    made = json.loads(target.read_text())
    assert set(made) == {"type", "crs", "features"}
    assert made["crs"] == {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    for where in ({"metadata": TRUE}, {"query": ["home"]}):
        with pytest.raises(InvalidInput, match="beside its features, which may tell"):
            release_file(HIDE, written(source, [feature()], **where), target, Geometry(), overwrite=True)


@pytest.mark.parametrize("ending", ["geojson", "geojsonl"])
def test_hiding_lists_members_like_columns(ending: str, tmp_path: Path) -> None:
    given = points(6)
    rows = [
        feature(geometry={"type": "Point", "coordinates": [x, y]}) | ({"center": [x, y]} if x > -74.02 else {})
        for x, y in zip(given["lon"].tolist(), given["lat"].tolist(), strict=True)
    ]
    rows[0].pop("center")
    rows[1]["properties"] = {"n": "one", "seldom": 2}
    source, target = written(tmp_path / f"a.{ending}", rows), tmp_path / f"b.{ending}"
    with pytest.raises(InvalidInput, match=r"'center' \(a member beside the properties\); say of it .* drop='center'"):
        sf.hide(source, "1 km", output=target, **QUICK)
    done = sf.hide(source, "1 km", output=target, drop="center", **QUICK)
    assert set(done.stay) == {"id", "n", "type", "seldom"}
    assert "center" not in target.read_text()
    with pytest.raises(InvalidInput, match="no such column"):
        sf.hide(source, "1 km", output=target, drop=["center", "centre"], overwrite=True, **QUICK)
