"""`polyopt completion`: the text that teaches a shell polyopt's commands and options.

In: the name of a shell.  Out: a script for it.  Refuses: other shells (PO0600).
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polyopt.cli.console import result


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(polyopt completion bash)" in ~/.bashrc.
    """
    from polyopt.cli.app import VARIABLE, cli

    kind = get_completion_class(shell)
    assert kind is not None
    result(kind(cli, {}, "polyopt", VARIABLE).source())
