"""Functions that polyopt refuses, each with its own message; `name__instead` is what to write."""
