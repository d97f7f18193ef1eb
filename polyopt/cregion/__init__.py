"""Regions of C files between `#pragma scop` and `#pragma endscop`, compiled source to source."""
