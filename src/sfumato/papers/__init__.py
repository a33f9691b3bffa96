"""The five papers, recomputed: every table and figure that can be rerun, ours beside the printed value.

``PAPERS["A.table4a"]()`` is one item as a :class:`PaperTable`; :func:`papers_page` lays items out as one offline page.
"""

from sfumato.papers.page import TITLES, compared, papers_page, recomputed
from sfumato.papers.register import PAPERS
from sfumato.papers.tables import PaperTable

__all__ = ["PAPERS", "TITLES", "PaperTable", "compared", "papers_page", "recomputed"]
