from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import InvalidInput
from sfumato.specs import spec as specs
from sfumato.specs.families import as_question
from sfumato.specs.spec import spec_from_text, spec_from_values, to_toml


def test_lengths_may_name_their_unit() -> None:
    """``radius = "500 m"`` where distances are in km: converted where both are lengths, refused otherwise."""
    town = {"space": {"kind": "grid", "shape": [3, 3], "step": "500 m", "unit": "km"}, "privacy": {"epsilon": 1}}
    threshold = {"loss": {"kind": "threshold", "radius": "750 m"}}
    spec = spec_from_values({**town, **threshold})
    assert spec_from_text(to_toml(spec)) == spec
    asked = as_question(spec)
    assert asked.space.distance((0, 0), (0, 1)) == 0.5 and asked.loss.name == "threshold(3/4)"
    street = {"space": {"kind": "line", "n": 3, "step": "0.5 mi", "unit": "ft"}}
    assert as_question(spec_from_values(street)).space.distance(0, 1) == 2640
    apart = {"space": {"kind": "discrete", "n": 3, "distance": "1 km", "unit": "m"}}
    assert as_question(spec_from_values(apart)).space.distance(0, 1) == 1000
    limit = {"objective": {"displacement": {"radius": "600 m", "probability": 0.5}}}
    assert str(as_question(spec_from_values({**town, **limit})).objective.limits[0].radius) == "600 m"
    for wrong in ("5 minutes", "1e999999999 m"):
        with pytest.raises(InvalidInput, match="loss"):
            as_question(spec_from_values({**town, "loss": {"kind": "threshold", "radius": wrong}}))


def test_labels_that_no_float_holds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="must be finite and within the range of floats"):
        spec_from_text("[space]\nkind = 'line'\nlabels = [1, 1e999999999]\n")
    named = spec_from_values({"space": {"kind": "line", "labels": ["1", "1e999999999"]}, "loss": {"kind": "absolute"}})
    with pytest.raises(InvalidInput, match="'1e999999999'"):
        as_question(named)


@pytest.mark.parametrize("number", ["1e99999999999999999999", "9" * 5000])
def test_numbers_that_toml_cannot_hold_are_said_to_be_so(number: str) -> None:
    with pytest.raises(InvalidInput, match=r"^spec: a number has too many digits, or ten to too large a power$"):
        spec_from_text(f"[space]\nkind = 'line'\nn = 3\nstep = {number}\n")


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places, people and names stand in one file, which three tables name."""
    (tmp_path / "cities.csv").write_text("name,lat,lon,people\nA,1,1,3\nB,2,2,1\nC,3,3,2\n")
    reads: list[Path] = []
    read = specs.read_columns
    monkeypatch.setattr(specs, "read_columns", lambda path: reads.append(path) or read(path))
    values: dict[str, Any] = {
        "space": {"kind": "geo", "file": "cities.csv", "label": "name"},
        "prior": {"counts": "people"},
        "loss": {"outputs": {"file": "cities.csv", "column": "name"}},
    }
    question = as_question(spec_from_values(values, tmp_path))
    assert question.prior.weights.tolist()[0] == 0.5 and question.outputs == ("A", "B", "C")
    assert reads == [tmp_path / "cities.csv"]
