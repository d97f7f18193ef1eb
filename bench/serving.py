"""The worker's end of its conversation with the driver.

In: one JSON command a line on standard input.  Out: one JSON answer a line on standard output; an
exception is an answer, too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.process import end_with_driver


def serve(
    answer: Callable[[dict[str, Any]], dict[str, Any]], reason: Callable[[Exception], str]
) -> None:
    """Answer commands until standard input ends; `reason` puts what was raised into words."""
    end_with_driver()
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what an implementation prints must not end up among the answers
    np.seterr(all="ignore")
    for line in sys.stdin:
        command = json.loads(line)
        try:
            reply = answer(command)
        except Exception as error:  # the driver reports it beside the program
            reply = {"failure": reason(error)}
        replies.write(json.dumps(reply) + "\n")
