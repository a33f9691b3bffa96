"""The gallery: what its scripts must say, and the pictures of its overview.

The scripts themselves run when the pages are built: ``make docs`` fails where one of them raises.
"""

import ast
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import plotly.graph_objects as go
import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*/*.py"))


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_figures", DOCS / "gallery_figures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def told(script: Path) -> str:
    return ast.get_docstring(ast.parse(script.read_text())) or ""


def test_there_are_at_least_fifteen_scripts_and_each_is_run():
    assert len(SCRIPTS) >= 15
    assert [script.name for script in SCRIPTS if not script.name.startswith("plot_")] == []  # others are not run


def test_no_two_scripts_share_a_name_or_a_title():
    assert len({script.stem for script in SCRIPTS}) == len(SCRIPTS)
    assert len({told(script).splitlines()[0] for script in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_a_title_says_what_it_compares_and_shows_a_figure(script):
    title, underline, *rest = told(script).splitlines()
    assert underline == "=" * len(title) > ""
    compared = re.search(r"^\*\*Compared:\*\* (.+?)\n\n(.+)", "\n".join(rest).strip(), re.DOTALL)
    assert compared is not None and len(compared[1].split()) >= 5 and len(compared[2].split()) >= 10
    assert script.read_text().count(".show()") == 1
    assert "\n# %%\n# " in script.read_text()


def test_every_section_has_a_heading_and_a_place_in_the_order():
    order = re.search(r'"subsection_order": \[(.*?)\]', (DOCS / "conf.py").read_text(), re.DOTALL)
    assert order is not None
    assert set(re.findall(r'"gallery/(\w+)"', order[1])) == {script.parent.name for script in SCRIPTS}
    assert all((script.parent / "GALLERY_HEADER.rst").exists() for script in SCRIPTS)


def test_links_into_the_gallery_lead_to_a_script():
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts and "auto_gallery" not in page.parts]
    links = {link for page in pages for link in re.findall(r"auto_gallery/(\w+/plot_\w+)\.rst", page.read_text())}
    assert links
    assert {link for link in links if not (DOCS / "gallery" / f"{link}.py").exists()} == set()


def test_a_picture_has_the_line_the_mark_the_bar_and_the_cell_of_the_figure(drawing):
    figure = go.Figure().set_subplots(rows=1, cols=3)
    figure.add_scatter(x=[0, 1], y=[1, 1], mode="lines", line={"color": "#ff0000", "width": 6}, row=1, col=1)
    figure.add_scatter(x=[0.5], y=[0], mode="markers", marker={"color": "#00aa00", "size": 40}, row=1, col=1)
    figure.add_bar(x=["one"], y=[2.0], marker={"color": "#0000ff"}, row=1, col=2)
    figure.add_heatmap(z=np.eye(2), colorscale=[[0, "#ffffff"], [1, "#888800"]], row=1, col=3)
    picture = np.asarray(drawing.picture(figure)).astype(int)
    assert picture.shape == (280, 400, 3)
    places = {}
    for name, colour in {"line": (255, 0, 0), "mark": (0, 170, 0), "bar": (0, 0, 255), "cell": (136, 136, 0)}.items():
        found = np.argwhere(np.abs(picture - colour).max(axis=2) < 40)
        assert len(found) > 20, name
        places[name] = found.mean(axis=0)
    assert places["line"][0] < 60 < 220 < places["mark"][0]  # the line is above the mark
    assert places["line"][1] < places["bar"][1] < places["cell"][1]  # panels stand side by side


def test_what_cannot_be_drawn_small_is_refused(drawing):
    with pytest.raises(ValueError, match="no small picture of pie"):
        drawing.picture(go.Figure(go.Pie(values=[1, 2])))


def test_a_shown_figure_becomes_html_that_no_text_in_it_can_break(drawing, tmp_path, monkeypatch):
    import plotly.io

    monkeypatch.setattr(drawing, "_KEPT", drawing._Kept())
    before = plotly.io.renderers.default
    try:
        drawing.keep_what_is_shown()
        figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1], name="</script>", line={"color": "#222222"}))
        figure.show()
    finally:
        plotly.io.renderers.default = before
    paths = iter([str(tmp_path / "sphx_glr_plot_it_001.png")])
    text = drawing.scraped(None, {"image_path_iterator": paths}, {})
    assert (tmp_path / "sphx_glr_plot_it_001.png").exists()
    assert text.count("</script>") == 1
    assert 'Plotly.newPlot("it_001"' in text
    assert drawing.scraped(None, {"image_path_iterator": paths}, {}) == ""
