"""Sphinx's configuration: `make docs` writes build/docs/index.html; a warning is an error."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

project = "polyopt"
author = "The polyopt developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "polyopt"
html_show_sphinx = False
default_role = "code"
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"exclude-members": "__init__"}
python_use_unqualified_type_names = True
suppress_warnings = ["misc.highlighting_failure"]
