"""The PolyBench/C 4.2.1 programs."""
