"""Random Python programs, made from Python's and NumPy's semantics alone, compared with Python."""
