"""BEST answers: the mechanism of least loss for a prior, a loss and a promise, certified."""

from sfumato.design.optimal import Design, design

__all__ = ["Design", "design"]
