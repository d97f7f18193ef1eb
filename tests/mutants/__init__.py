"""Planted faults of checker, scheduler and emitters, and the layers that see each of them."""
