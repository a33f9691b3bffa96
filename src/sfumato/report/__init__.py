"""SEEING it: tables of the papers, ours beside the printed ones."""

from sfumato.report.papers import PAPERS
from sfumato.report.tables import PaperTable

__all__ = ["PAPERS", "PaperTable"]
