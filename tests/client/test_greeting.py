"""The title of a page is in words."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.file import file_of
from sfumato.client.greeting import title_of
from sfumato.client.page import visitors_page, write_page

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def box_from(south: str, west: str, km: int) -> kernel.AnyHeader:
    """The header of a file about a square of so many km, with its corner there."""
    header, *_ = kernel.parse((VECTORS / "ground.sfm").read_bytes())
    assert isinstance(header, kernel.CoordinatesHeader) and header.box.frame is not None
    degrees = (Fraction("0.012"), Fraction("0.009"))
    frame = header.box.frame._replace(south=Fraction(south), west=Fraction(west), degrees=degrees)
    return header._replace(box=header.box._replace(sides=(Fraction(km),) * 2, frame=frame))


@pytest.mark.parametrize(
    ("south", "west", "km", "title"),
    [
        ("40.70", "-74.02", 11, "Somewhere in New York City"),
        ("52.48", "13.35", 8, "Somewhere in Berlin"),
        ("62.0", "25.2", 5, "Somewhere near Jämsä"),
        ("45", "-31", 10, "Somewhere within 10 km of 45.0° N, 30.9° W"),
        ("-40", "179", 400, "Somewhere within 290 km of 38.2° S, 178.6° W"),
    ],
)
def test_a_part_of_the_earth_is_called_by_its_city(south: str, west: str, km: int, title: str) -> None:
    assert title_of(box_from(south, west, km)) == title


@pytest.mark.parametrize(
    ("space", "title"),
    [
        (sf.line(["never", "rarely", "often"], unit="answer"), "One of 3 choices"),
        (sf.grid(3, 3, unit="km"), "One of 9 places"),
        (sf.geo([(48.85, 2.35), (43.3, 5.4)]), "One of 2 places"),
        (sf.graph([("a", "b")], name="Our town"), "Our town"),
    ],
)
def test_choices_are_counted_and_a_name_of_ones_own_stays(space: sf.FiniteSpace, title: str) -> None:
    mechanism = sf.exponential(sf.PrivacyType(space, epsilon="1/100"))
    assert title_of(kernel.parse(file_of(mechanism))[0]) == title
    assert f"<h1>{title}</h1>" in visitors_page(mechanism)


@pytest.mark.parametrize(("other", "title"), [([2.33, 48.86], "Somewhere in Paris"), ([5.4, 43.3], "One of 2 places")])
def test_cells_of_a_town_are_called_by_it(other: list[float], title: str) -> None:
    header, *_ = kernel.parse((VECTORS / "space-ground.sfm").read_bytes())
    assert title_of(header._replace(space=header.space._replace(coordinates=[[2.35, 48.85], other]))) == title


@pytest.mark.parametrize("name", ["coordinates", "coordinates-euclidean"])
def test_a_box_of_the_plane_has_sides_without_fractions(name: str) -> None:
    header, *_ = kernel.parse((VECTORS / f"{name}.sfm").read_bytes())
    assert re.fullmatch(r"Somewhere (along|in a box of) [\d. ×]+", title_of(header))


def test_a_page_of_a_file_has_it_too(tmp_path: Path) -> None:
    page = write_page(VECTORS / "ground.sfm", tmp_path / "page.html")
    (title,) = re.findall(r"<title>(.*)</title>", page.read_text())
    assert title.startswith("Somewhere ") and "(" not in title
