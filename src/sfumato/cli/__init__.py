"""One door: the command line. It parses, calls and prints; there is no mathematics in it."""
