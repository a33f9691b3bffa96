"""Files as they are: rows and points in, the same with noise out, byte for byte where nothing else changes."""
