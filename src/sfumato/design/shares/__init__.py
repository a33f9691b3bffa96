"""The best mechanism for estimates of shares: a measure on columns, its certificate, and a relaxation beyond lists."""

from sfumato.design.shares.optimal import SharesDesign, SharesLost, design_for_shares, lost_shares

__all__ = ["SharesDesign", "SharesLost", "design_for_shares", "lost_shares"]
