"""Sphinx configuration: everything builds offline."""

import sys
from pathlib import Path

from sfumato.version import __version__

sys.path.insert(0, str(Path(__file__).parent / "gallery"))

project = "sfumato"
copyright = "the sfumato contributors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",  # brings MathJax itself, so that the pages need no network
]
html_theme = "furo"
html_title = f"sfumato {version}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False


def keep_bars(app, what, name, obj, options, lines):
    """A bar in a docstring is an absolute value, not a substitution; code is left alone."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = line.split("``")
            pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
            lines[i] = "``".join(pieces)


def draw_gallery(app, failed):
    """Draw the figures of the gallery beside the pages that show them."""
    from figures import FIGURES

    from sfumato.report.figure import write

    if failed or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "figures"
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        write(draw(), folder / f"{name}.html")


def setup(app):
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("build-finished", draw_gallery)
