from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release import cross_table, frequencies_by, plan_curve
from sfumato.report.shares import respondents_figure, shares_figure

SCALE = sf.geometric(sf.PrivacyType(sf.line(["never", "<b>often</b>"]), alpha="1/2"))
FOUND = sf.frequencies(SCALE, np.array([60, 40]))


def test_dots_are_shares_and_bars_are_intervals() -> None:
    figure = shares_figure(FOUND, level="0.9", title="q<1>")
    clear, bars = figure.data
    np.testing.assert_allclose(bars.x, FOUND.weights.astype(float))
    ends = FOUND.intervals("0.9")
    np.testing.assert_allclose(np.array(bars.x) + bars.error_x.array, ends[:, 1])
    np.testing.assert_allclose(np.array(bars.x) - bars.error_x.arrayminus, ends[:, 0])
    # without noise an interval is narrower, in the proportion of the standard errors
    assert clear.x[1] - clear.x[0] < ends[0, 1] - ends[0, 0] and bars.name == "90 % interval"
    assert figure.layout.yaxis.ticktext == ("never", "&lt;b&gt;often&lt;/b&gt;")
    assert figure.layout.xaxis.title.text == "share of q&lt;1&gt;"
    assert "100 released answers" in figure.layout.annotations[-1].text
    assert FOUND.plot(simultaneous=True).data[1].error_x.arrayminus[0] > bars.error_x.arrayminus[0]


def test_groups_have_colours_and_cross_tables_rows() -> None:
    groups = frequencies_by(SCALE, ["never"] * 6 + ["<b>often</b>"] * 4, ["north", "south"] * 5)
    figure = shares_figure(groups)
    assert [trace.name for trace in figure.data if trace.mode == "markers"] == ["north", "south"]
    assert sum(bool(trace.showlegend) for trace in figure.data if trace.name == "in the clear") == 1
    both = shares_figure(cross_table([SCALE, SCALE], np.array([[30, 20], [20, 30]])))
    assert len(both.layout.yaxis.ticktext) == 4 and " · " in both.layout.yaxis.ticktext[0]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InvalidInput, match="what is drawn are estimates"):
        shares_figure({"north": 3})  # type: ignore[dict-item]
    with pytest.raises(NotSupported, match="groups in one figure"):
        shares_figure(dict.fromkeys(range(9), FOUND))
    with pytest.raises(InvalidInput, match="the same answers"):
        shares_figure({"a": FOUND, "b": sf.frequencies(sf.Channel.identity(["x", "y"]), ["x", "y"])})
    wide = sf.frequencies(sf.Channel.identity(range(401)).to_floats(), np.ones(401, dtype=int))
    with pytest.raises(NotSupported, match="intervals in one figure"):
        shares_figure(wide)


def test_respondents_against_epsilon() -> None:
    curve = plan_curve(lambda e: sf.geometric(sf.PrivacyType(sf.line(3), epsilon=e)), [1, 2, 4])
    figure = respondents_figure(curve, 0.05, unit="step", title="the geometric mechanism")
    assert list(figure.data[0].y) == [plan.respondents(0.05) for plan in curve.plans]
    assert figure.layout.xaxis.title.text == "ε per step" and "±0.05" in figure.layout.annotations[-1].text
    errors = respondents_figure(curve, 0.05, measure="standard error")
    assert errors.data[0].y[0] < figure.data[0].y[0] and "standard error" in errors.layout.annotations[-1].text
