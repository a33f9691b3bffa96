"""Sphinx configuration: everything builds offline."""

from sfumato.version import __version__

project = "sfumato"
copyright = "the sfumato contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
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


def setup(app):
    app.connect("autodoc-process-docstring", keep_bars)
