from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.design.comparison import compare_known
from sfumato.report.comparison import comparison_figure
from sfumato.report.figure import write_figure


@pytest.mark.parametrize("space", [sf.sum_query(2, 3), sf.grid(2, 3, unit="km"), sf.line(1)])
def test_what_is_drawn_is_what_was_compared(space: sf.FiniteSpace, tmp_path: Path) -> None:
    found = compare_known(sf.Prior.uniform(space), sf.losses.bin(space), sf.PrivacyType(space, epsilon=1))
    figure = comparison_figure(found)
    direct, remapped, needed, leaked = figure.data[1:]
    assert list(remapped.x) == [float(row.remapped) for row in found]
    assert list(direct.x) == [None if row.loss is None else float(row.loss) for row in found]
    assert list(needed.x) == [row.epsilon for row in found]
    assert [1 + x for x in leaked.x] == pytest.approx([float(row.multiplicative) for row in found])
    assert list(figure.layout.yaxis.ticktext) == [row.name for row in found]
    assert list(remapped.y) == sorted(remapped.y, reverse=True)  # the best on top
    names = [a.text for a in figure.layout.annotations]
    assert "promised" in names and "without disclosure" in names
    low, high = figure.layout.xaxis.range
    assert all(low <= x <= high for x in [*remapped.x, float(found.blind)])
    assert ("per km" in names[-1].replace("<br>", " ")) == (space.unit == "km")
    assert write_figure(figure, tmp_path / "known.html").stat().st_size > 10_000


def test_only_comparisons_are_drawn() -> None:
    with pytest.raises(sf.errors.InvalidInput, match="Comparison"):
        comparison_figure(sf.line(3))  # type: ignore[arg-type]


def test_a_survey_is_drawn_by_its_respondents(tmp_path: Path) -> None:
    privacy = sf.PrivacyType(sf.line(4, unit="h"), alpha="1/2")
    found = compare_known(None, None, privacy, objective="shares")
    figure = comparison_figure(found)
    (bars,) = figure.data
    drawn = [None if x is None else x + 1 for x in bars.x]
    assert drawn == pytest.approx([row.times if row.recovered else None for row in found])
    assert list(figure.layout.yaxis.ticktext) == [row.name for row in found] and bars.y[0] == len(found)
    texts = [a.text for a in figure.layout.annotations]
    assert texts.count("shares cannot be recovered") == 3 and "per h" in texts[-1].replace("<br>", " ")
    assert 10 ** figure.layout.xaxis.range[1] > max(x for x in drawn if x is not None)
    assert write_figure(figure, tmp_path / "known.html").stat().st_size > 10_000


def test_a_comparison_on_a_box_is_a_table() -> None:
    street = sf.box(2, step=1)
    found = compare_known(sf.Prior.uniform(street), sf.losses.distance(street), sf.PrivacyType(street, epsilon=1))
    with pytest.raises(sf.errors.NotSupported, match="a figure of a comparison on a box"):
        comparison_figure(found)
