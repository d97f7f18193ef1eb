"""Models that train: each step, gradient and AdamW included, is one kernel, compared with NumPy.

`python -m examples` runs all of them, `python -m examples.gpt` one.
"""
