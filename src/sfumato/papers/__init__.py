"""The five papers, recomputed: every table and figure that can be rerun, ours beside the printed value.

``PAPERS["A.table4a"]()`` is one item as a :class:`PaperTable`, :func:`compared` counts where it agrees, and
:mod:`sfumato.papers.page` lays items out as one offline page.
"""

from sfumato.papers.page import TITLES, Agreement, compared
from sfumato.papers.register import PAPERS
from sfumato.papers.tables import PaperTable

__all__ = ["PAPERS", "TITLES", "Agreement", "PaperTable", "compared"]
