import sys
from unittest import mock

from tests.errors.c_text import region


def act():
    with mock.patch.dict(sys.modules, {"tree_sitter": None}):
        region("")
