"""Sphinx configuration: everything builds offline."""

import sys
from pathlib import Path

import plotly

from sfumato.version import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_figures

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
    "sphinx_gallery.gen_gallery",
]
html_theme = "furo"
html_title = f"sfumato {version}"
html_static_path = ["pages.css", str(Path(plotly.__file__).parent / "package_data" / "plotly.min.js")]
html_css_files = ["pages.css"]
exclude_patterns = ["_build", "gallery"]  # the pages of the gallery are generated, in auto_gallery
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

# An exception in a script fails the build. Figures are scraped without a browser, see gallery_figures.py.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "subsection_order": ["gallery/locations", "gallery/surveys", "gallery/counts", "gallery/release", "gallery/theory"],
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_figures.scraped",),
    "reset_modules": (),
    "capture_repr": (),
    "download_all_examples": False,
    "notebook_extensions": set(),
    "min_reported_time": 1e9,  # how long a script took is no news to the reader
    "write_computation_times": False,
    "remove_config_comments": True,
    "show_signature": False,
}


def keep_bars(app, what, name, obj, options, lines):
    """A bar in a docstring is an absolute value, not a substitution; code is left alone."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = line.split("``")
            pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
            lines[i] = "``".join(pieces)


def bring_plotly(app, pagename, templatename, context, doctree):
    """Pages of the gallery draw their figures with plotly.js, which is 5 MB; others do without."""
    if pagename.startswith("auto_gallery/") and "/plot_" in pagename:
        app.add_js_file("plotly.min.js", loading_method="defer")


def write_spec_keys(app):
    """The page on the keys of a spec is made of the schema."""
    import spec_keys

    page = Path(app.srcdir) / "reference" / "generated" / "spec_keys.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(spec_keys.page())


def setup(app):
    import gallery_figures

    gallery_figures.keep_what_is_shown()
    app.connect("builder-inited", write_spec_keys)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("html-page-context", bring_plotly)
