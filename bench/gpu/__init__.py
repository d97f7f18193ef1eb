"""Checks and measurements on a GPU, and all of them that need none.

In: the machine.  Out: tables, and JSON under bench/results/ where there is a GPU.
"""
