from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.design.comparison import compare_known
from sfumato.report.comparison import comparison_figure
from sfumato.report.figure import write


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
    assert write(figure, tmp_path / "known.html").stat().st_size > 10_000


def test_only_comparisons_are_drawn() -> None:
    with pytest.raises(sf.errors.InvalidInput, match="Comparison"):
        comparison_figure(sf.line(3))  # type: ignore[arg-type]
