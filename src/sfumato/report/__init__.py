"""SEEING it: figures, and the papers' tables with ours beside the printed ones.

Figures live in modules of their own (:mod:`sfumato.report.simplex`, :mod:`sfumato.report.figure`), which bring a
large library with them.
"""

from sfumato.report.papers import PAPERS
from sfumato.report.tables import PaperTable

__all__ = ["PAPERS", "PaperTable"]
