from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from box_mechanisms import DOUBLING, doubling
from sfumato.certify.coordinates import prove_on_box
from sfumato.errors import InvalidInput
from sfumato.privacy.type import PrivacyType
from sfumato.report.box_facts import BoxFacts
from sfumato.report.page import report
from sfumato.spaces.splines import rounding_of


class Closed(HTMLParser):
    """Whether all that opens is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def written(subject: object, tmp_path: Path, **told: object) -> str:
    found = report(subject, tmp_path / "report.html", overwrite=True, **told)
    assert isinstance(found.facts, BoxFacts)
    text = found.page.read_text()
    assert Closed(text).open == []
    return text.replace("\xa0", " ")


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_page_says_that_the_promise_is_about_all_points(axes: int, tmp_path: Path) -> None:
    text = written(doubling(axes), tmp_path)
    assert "Take any two points of the box" in text
    assert "ε = 0.75 per km" in text
    assert "The promise is about points, not about cells." in text
    assert "if two points are 1 km apart, seeing the output makes one at most 2.12 times as likely" in text
    assert (
        f"{' × '.join(['4'] * axes)} lattice points, rounding of degree 2: to one of {3**axes} around a point" in text
    )
    assert "Privacy actually used" in text


def test_loss_bound_and_gap_are_those_of_the_claim(tmp_path: Path) -> None:
    text = written(doubling(), tmp_path)
    assert "On average what is told is at most <strong>0.6 km</strong> away." in text
    assert "loses less than 0.5 km, so at most 17 % of it could be saved" in text
    assert "1.3333" in text  # noise without a box: 1/ε
    measured = written(doubling(), tmp_path, prior=sf.Prior.on_cells([3, 1], doubling().box))
    assert "measured in floats, not proved" in measured
    assert "No prior was given" in written(doubling(claimed=False), tmp_path)


def test_an_irrational_rate_is_said_to_be_rounded_down(tmp_path: Path) -> None:
    assert "a rational just below the one that is promised" in written(doubling(alpha="4/9"), tmp_path)
    assert "just below" not in written(doubling(), tmp_path)


def test_figures_are_written_beside_the_page(tmp_path: Path) -> None:
    found = report(doubling(2), tmp_path / "report.html", figures=tmp_path / "figures", secret=(0.5, 1), title="My <b>")
    names = {path.stem for path in found.figures}
    assert names == {"prior", "released", "cloud", "density", "likely", "belief", "used"}
    assert "My &lt;b&gt;" in found.page.read_text()


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_density_at_a_point_is_drawn_on_a_fine_raster(axes: int, tmp_path: Path) -> None:
    secret = (0.25,) * axes
    found = report(doubling(axes), tmp_path / "report.html", figures=tmp_path / "figures", secret=secret)
    text = found.page.read_text()
    assert "every output stands for the points that it is nearest to" in text
    assert ("480 equal parts" if axes == 1 else "96 × 96 squares") in text.replace("\xa0", " ")
    assert any(path.stem == "density" for path in found.figures)


def test_releases_are_drawn_where_there_are_any(tmp_path: Path) -> None:
    assert "What 3 releases told." in written(doubling(), tmp_path, released=[1.5, 1.5, 0.5])


def test_a_table_of_places_says_what_it_does_not_promise(tmp_path: Path) -> None:
    places = sf.grid(2, 2, unit="km")
    text = report(sf.planar_laplace(sf.PrivacyType(places, epsilon=1)), tmp_path / "report.html").page.read_text()
    assert "The promise is about the 4 listed places, not about points between them." in text
    line = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    assert "not about points between them" not in report(line, tmp_path / "other.html").page.read_text()


def test_a_point_with_too_many_coordinates_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="1 coordinates"):
        report(doubling(), tmp_path / "report.html", secret=(1, 2))
    assert not (tmp_path / "report.html").exists()


def test_on_the_earth_the_promise_is_about_the_ground(tmp_path: Path) -> None:
    city = sf.spaces.earth_box("40.70 N", "74.02 W", sides=(2, 2), step="1 km")
    weights = np.kron(DOUBLING, DOUBLING)
    outputs = [(x, y) for x in ("3/2", "1/2") for y in ("3/2", "1/2")]
    text = written(prove_on_box(weights, PrivacyType(city, epsilon=2), rounding_of(city), outputs), tmp_path)
    assert "distance on the ground, along a great circle, and ε = 2 per km" in text
    assert "a flat map of a part of the Earth: distances on the map are 0.999662 to 1 times those on the ground" in text
    assert "for a unit of the map" in text
