from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.design import Curve
from sfumato.errors import InvalidInput
from sfumato.report.curve import curve_figure
from sfumato.report.figure import write_figure


def found(*epsilons: str, unit: str = "") -> Curve:
    space = sf.line(4, unit=unit)
    return sf.curve(sf.Prior.uniform(space), sf.losses.distance(space), space, epsilons)


def test_the_boxes_hold_the_optimum_in_between(tmp_path: object) -> None:
    figure = curve_figure(found("0.5", "1", "2", unit="km"))
    region, designs = figure.data
    assert list(designs.x) == [0.5, 1.0, 2.0]
    assert list(designs.y) == sorted(designs.y, reverse=True)
    between = found("0.7", "1.5").designs
    for epsilon, made, start in ((0.7, between[0], 0), (1.5, between[1], 6)):
        xs, ys = (tuple(values)[start : start + 4] for values in (region.x, region.y))
        assert min(xs) < epsilon < max(xs)
        assert min(ys) <= float(made.bound) <= float(made.loss) <= max(ys)
    assert figure.layout.xaxis.title.text == "ε per km"
    assert figure.layout.yaxis.title.text == "expected loss in km"
    assert write_figure(figure, f"{tmp_path}/curve.html").exists()


def test_a_wide_curve_has_a_logarithmic_axis_and_one_point_a_figure() -> None:
    wide = curve_figure(found("4", "0.1"))
    assert wide.layout.xaxis.type == "log"
    assert list(wide.layout.xaxis.tickvals) == [0.1, 4.0]
    assert not curve_figure(found("1")).data[0].showlegend


def test_what_is_no_curve() -> None:
    with pytest.raises(InvalidInput, match="must be a Curve"):
        curve_figure(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="without points"):
        curve_figure(Curve((), ()))
