"""What a schedule costs on a machine, and the tile sizes that cost least.

In: a `Machine`, loops.  Out: tile sizes, bytes, operations, seconds; decisions are the strategy's.
"""
