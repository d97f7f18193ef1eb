"""A second reader of Python functions, which shares no code with the front end.

In: a function, small sizes.  Out: for every element of its results the term it is computed by.
Python itself executes the function, on arrays of symbolic elements: control, slices, views,
broadcasts and calls are Python's and NumPy's own, the rules of element types are asked of NumPy.
"""
