"""Interior-point methods for programs over columns in cones: one loop, and one adapter for each kind of system."""
