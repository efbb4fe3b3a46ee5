"""Data sets: reading, encoding, caching, the catalogue."""
