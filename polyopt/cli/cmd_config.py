"""`polyopt config`: every setting, its value and what chose it.

In: the environment, `[tool.polyopt]` in a pyproject.toml, the user's config.toml.
Out: a line for each setting.
"""

from __future__ import annotations

import click

from polyopt.cli.console import result, result_json
from polyopt.cli.prepare import json_option
from polyopt.settings import SETTINGS, chosen


@click.command("config")
@click.option("--origin", is_flag=True, help="Say for each setting what chose it, and its meaning.")
@json_option
def command(origin: bool, as_json: bool) -> None:
    """Show the settings that hold here."""
    found = {name: chosen(name) for name in SETTINGS}
    if as_json:
        result_json(
            {
                name: {"value": value, "origin": where, "meaning": SETTINGS[name].meaning}
                for name, (value, where) in found.items()
            }
        )
        return
    for name, (value, where) in found.items():
        known = SETTINGS[name]
        line = f"{name:12} {known.default if value is None else value}"
        result(f"{line:42} {where or 'default':34} {known.meaning}" if origin else line)
