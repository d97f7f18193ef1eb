"""Sphinx configuration: `pip install -e ".[docs]" && sphinx-build docs build/docs`."""

project = "polyopt"
author = "The polyopt developers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
html_theme = "furo"
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]
