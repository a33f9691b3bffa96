"""HOW it is drawn: random bits, and exact draws from integer weights and from real masses."""
