"""Every table and figure of the papers that can be rerun; a key is the paper's letter and the item's number."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.papers.paper_a import FIGURES, SPACES, UNIVERSAL
from sfumato.papers.paper_a_tables import TABLES
from sfumato.papers.paper_b import ITEMS as PAPER_B
from sfumato.papers.paper_c import ITEMS as PAPER_C
from sfumato.papers.paper_d import ITEMS as PAPER_D
from sfumato.papers.paper_e import ITEMS as PAPER_E
from sfumato.papers.tables import PaperTable

PAPERS: dict[str, Callable[[], PaperTable]] = {
    **TABLES,
    **FIGURES,
    **SPACES,
    **UNIVERSAL,
    **PAPER_B,
    **PAPER_C,
    **PAPER_D,
    **PAPER_E,
}
"""Every item that can be rerun, by key."""
