"""Write the reference of commands from the tree of commands.

In: the command `polyopt`.  Out: docs/commands.md; `python -m docs.reference.commands` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import click

from polyopt.cli.app import cli

PAGE = Path(__file__).resolve().parent.parent / "commands.md"
WIDTH = 100
HEAD = """\
# Reference of commands

`polyopt COMMAND --help` prints the same. Each command also has `--quiet` and `--verbose`. The
[exit codes](runtime.md#exit-codes-of-the-command) are the same for all commands.
`python -m docs.reference.commands` makes this page.

"""
COMMON = ("--help", "--quiet", "--verbose")


def page() -> str:
    """Return the page."""
    return HEAD + "\n".join(_sections("polyopt", cli)).rstrip() + "\n"


def _sections(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            assert inner is not None
            yield from _sections(f"{name} {part}", inner)
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}\n"
    yield fill(" ".join((command.help or "").split()), WIDTH) + "\n"
    yield f"```text\n{name} {usage}\n```\n"
    rows = [_row(option, context) for option in command.params if isinstance(option, click.Option)]
    rows = [row for row in rows if row and not any(word in row for word in COMMON)]
    if rows:
        yield "| option | meaning |\n| --- | --- |"
        yield "\n".join(rows) + "\n"


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    if record is None:
        return ""
    words, meaning = (part.replace("|", "\\|") for part in record)
    return f"| `{words}` | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
