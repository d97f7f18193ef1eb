"""Lazy arrays, traced graphs, index notation: arrays programs written as values.

In: placeholders and NumPy operations on them.  Out: graphs, compiled through the front end.
"""
