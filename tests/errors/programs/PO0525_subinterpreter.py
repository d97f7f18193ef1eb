import ctypes
from unittest import mock

from polyopt.interpreters import require_first


def act():
    functions = mock.Mock()
    functions.PyInterpreterState_Get.return_value = 2
    functions.PyInterpreterState_Main.return_value = 1
    with mock.patch.object(ctypes, "pythonapi", functions):
        require_first("polyopt.decorator")
