"""What a Python function is made of: its text, the values it reads, and whether they changed.

In: a function object.  Out: its text, recorded reads, texts of values, guards.
"""
