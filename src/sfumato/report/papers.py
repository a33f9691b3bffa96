"""Every table and figure of the papers that can be rerun.

Keys are the paper's letter and the item's number: A is Fernandes, McIver, Palamidessi and Ding (2023).
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.report.paper_a import FIGURES
from sfumato.report.paper_a_tables import TABLES
from sfumato.report.tables import PaperTable

__all__ = ["PAPERS"]

PAPERS: dict[str, Callable[[], PaperTable]] = {**TABLES, **FIGURES}
"""Every item that can be rerun, by key."""
