"""The command group and the one place where errors become exit codes.

In: arguments.  Out: an exit code.  Subcommands are imported when they are called.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

import click

from polyopt.cli.console import own_version, quiet, report_crash, report_error, verbose
from polyopt.cli.exits import Exit, exit_code
from polyopt.errors import PolyoptError, UsageError, is_debugging

_COMMANDS = {
    "compile": "write C, header and schedule of a function",
    "export": "write functions as C with a program that runs without Python",
    "run": "compile a function and run it",
    "bisect": "name the step of a schedule that makes a result wrong",
    "check": "prove or refuse parallel loops and schedules, without a compiler",
    "verify": "compare a function as it was read with Python, on small random calls",
    "explain": "tell what was fused, tiled and parallelized, and why not",
    "view": "write one HTML page: source, loops and code by line, pictures, times",
    "tune": "search for a faster schedule by measuring, and keep it",
    "bench": "compare a function or the workloads with NumPy and every other peer",
    "doctor": "show versions, compiler, cache and machine",
    "machine": "show caches, vectors and speeds that schedules are chosen by",
    "config": "show the settings that hold here, and what chose them",
    "devices": "list the GPUs and the like that kernels can run on",
    "cache": "show, clear or explain the build cache",
    "completion": "print what teaches bash, zsh or fish to complete commands",
}

VARIABLE = "_POLYOPT_COMPLETE"
"""The environment variable in which click tells what to complete."""


class _Commands(click.Group):
    """Names and one-line helps are known here; the command's module is imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"polyopt.cli.cmd_{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        _add_switches(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


_SWITCHES = {
    "quiet": ("Say results and errors only.", quiet),
    "verbose": ("Show what is found in the cache, compilers' commands, times.", verbose),
}


def _add_switches(command: click.Command) -> None:
    """Give a command `-q` and `-v`, which say how much it tells on stderr."""
    taken = {word for option in command.params for word in option.opts}
    for name, (help, how) in _SWITCHES.items():
        words = (f"-{name[0]}", f"--{name}")
        if taken.isdisjoint(words):
            switch = click.Option(
                words, is_flag=True, expose_value=False, is_eager=True, help=help,
                callback=partial(_switch, how),
            )  # fmt: skip
            command.params.append(switch)


def _switch(
    how: Callable[[], AbstractContextManager[None]],
    context: click.Context,
    _: click.Parameter,
    wanted: bool,
) -> None:
    if wanted:
        context.with_resource(how())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda context, _, wanted: _show_version(context, wanted),
    help="Show the version and exit.",
)
def cli() -> None:
    """Compile Python functions over NumPy arrays to proven, tiled, parallel C."""


def _show_version(context: click.Context, wanted: bool) -> None:
    if wanted:
        click.echo(f"polyopt {own_version()}")
        context.exit()


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing but an interrupt of Python escapes."""
    as_json = "--json" in arguments
    try:
        code = cli.main(args=list(arguments), prog_name="polyopt", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else Exit.OK
    except click.ClickException as error:
        report_error(usage_error(error, arguments), as_json)
        return Exit.USAGE
    except PolyoptError as error:
        if is_debugging():
            raise
        report_error(error, as_json)
        return exit_code(error)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("interrupted\n")
        return Exit.INTERRUPT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:
        if is_debugging():
            raise
        report_crash(error, list(arguments))
        return Exit.INTERNAL


def usage_error(error: click.ClickException, arguments: Sequence[str]) -> UsageError:
    """Return click's complaint as one of ours; some have no context, and say choices twice."""
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "polyopt"
    if context is None and arguments and arguments[0] in cli.list_commands(click.Context(cli)):
        path = f"polyopt {arguments[0]}"
    message = error.format_message().partition(" Choose from:")[0].rstrip(".")
    message = message[:1].lower() + message[1:]
    return UsageError("PO0600", message, hint=f"see `{path} --help`")
