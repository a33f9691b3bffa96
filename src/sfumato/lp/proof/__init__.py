"""Proofs of bounds in few numbers: multipliers from prices, and from too many multipliers a few."""
