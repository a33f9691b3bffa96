"""SEEING it."""
