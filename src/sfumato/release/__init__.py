"""USING it: exact samples of proved mechanisms, on any table."""
