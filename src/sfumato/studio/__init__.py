"""A door: a page in a browser on this machine. HTTP → call → JSON; no mathematics."""
