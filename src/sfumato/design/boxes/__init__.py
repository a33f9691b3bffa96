"""The best mechanism for coordinates: a lattice with smooth rounding in front, a loss, and a bound for all others."""
