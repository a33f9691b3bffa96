"""What releases have cost: one file that adds it up, and refuses what would be too much."""
