"""Building, caching, loading and calling emitted C; everything that touches processes and files."""
