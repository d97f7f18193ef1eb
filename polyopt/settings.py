"""What polyopt runs with where a call does not say: the environment, a project's file, a user's.

In: variables POLYOPT_*; `[tool.polyopt]` in the nearest pyproject.toml that has such a table, from
the current directory upwards; polyopt/config.toml in the user's directory for settings.
Out: a value and where it is from.  A variable goes before the project, the project before the user;
`config` sets variables.
Refuses: a name that is no setting, a value that is no text, number or truth value, a file that is
not TOML, a project that chooses a program to run or a directory to load from (PO0237).

A project's file comes with whatever was cloned or unpacked: it may choose how things are computed,
never what is run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from polyopt.errors import Loc, UsageError
from polyopt.files import is_readable, read_text

PREFIX = "POLYOPT_"
TABLE = "tool.polyopt"
MOST_TEXT = 1 << 20  # bytes of a file


class Known(NamedTuple):
    """A setting: what it is for, what holds without it, whether a project may choose it."""

    meaning: str
    default: str
    by_project: bool = True


SETTINGS = {
    "num-threads": Known("threads of kernels without the option `threads`", "all cores"),
    "budget": Known("seconds that compiling a kernel may take", "60"),
    "machine": Known("a level such as x86-64-v3, or a file of a machine's numbers", "this machine"),
    "verify": Known("compare a new kernel with Python on small random calls", "false"),
    "disable": Known("run the Python functions", "false"),
    "tunings": Known("a file of schedules, as `polyopt tune --save` writes it", "none"),
    "cache": Known("keep compiled kernels", "true"),
    "cache-size": Known("bytes the cache may hold, such as 500M", "1G"),
    "cache-dir": Known("where compiled kernels are kept", "the user's cache", by_project=False),
    "cc": Known("the C compiler", "gcc, clang or cc", by_project=False),
    "nvcc": Known("CUDA's compiler", "nvcc", by_project=False),
}


VARIABLES = ("debug",)
"""What is chosen like a setting, but in no file: `debug` shows all frames of errors."""


_UNITS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([a-z]*)\s*")


def duration(text: str) -> float | None:
    """Return the seconds that a text says, None where it says something else.

    >>> duration("90"), duration("60s"), duration("1.5 min"), duration("500ms"), duration("soon")
    (90.0, 60.0, 90.0, 0.5, None)
    """
    found = _DURATION.fullmatch(text)
    scale = None if found is None else _UNITS.get(found[2])
    return None if found is None or scale is None else float(found[1]) * scale


class Setting(NamedTuple):
    """A value and where it is from; both are None where nobody chose one."""

    value: str | None
    origin: str | None


def setting(name: str) -> str | None:
    """Return the value of a setting; None where neither a variable nor a file has one.

    Raises: `UsageError` (PO0237) for a file that is wrong.
    """
    return chosen(name).value


def is_set(name: str) -> bool:
    """Whether a setting that is off by default is on."""
    return setting(name) == "1"


def chosen(name: str) -> Setting:
    """Return the value of a setting and its origin."""
    variable = variable_of(name)
    given = os.environ.get(variable)
    if given:
        return Setting(given, variable)
    for table in _tables():
        if name in table:
            return table[name]
    return Setting(None, None)


def config(**values: bool | float | str | os.PathLike[str] | None) -> Restoring:
    """Choose settings for this process and those that it starts; None takes a choice back.

    `po.config(num_threads=4, budget=10)` holds from then on; `with po.config(debug=True): ...`
    holds inside.  It goes before files of settings, and an option of a kernel before it.  Names are
    those that `polyopt config` lists, with `_` for `-`, and `debug`, which shows all frames of
    errors; each is a variable `POLYOPT_...` of the process.  Kernels that are compiled already stay
    as they are.

    Raises: `UsageError` PO0237 for a name that is no setting, or a value that it cannot have.
    """
    chosen_now = {
        variable_of(_known(name.replace("_", "-"))): _as_variable(name, value)
        for name, value in values.items()
    }
    before = {variable: os.environ.get(variable) for variable in chosen_now}
    _set(chosen_now)
    return Restoring(before)


class Restoring:
    """A context at whose end variables of the process are what they were."""

    def __init__(self, before: Mapping[str, str | None]) -> None:
        self._before = dict(before)

    def __enter__(self) -> None:
        """Leave the variables as they were set."""

    def __exit__(self, *error: object) -> None:
        """Set the variables back."""
        _set(self._before)


def _set(values: Mapping[str, str | None]) -> None:
    for variable, value in values.items():
        if value is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = value


def _known(name: str) -> str:
    known = [*SETTINGS, *VARIABLES]
    if name in known:
        return name
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    names = [one.replace("-", "_") for one in (near or known)]
    hint = f"did you mean `{names[0]}`?" if near else f"settings are {', '.join(names)}"
    raise UsageError("PO0237", f"there is no setting `{name.replace('-', '_')}`", hint=hint)


def _as_variable(name: str, value: object) -> str | None:
    """Return a value as a variable holds it; None where there shall be none."""
    match value:
        case None:
            return None
        case bool():
            return "1" if value else "0"
        case int() | float():
            return str(value)
        case str() | os.PathLike() if "\0" not in (text := str(os.fspath(value))) and text:
            return text
    hint = "give a text, a number, True or False; None takes a choice back"
    raise UsageError("PO0237", f"setting `{name}` is {value!r}", hint=hint)


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper().replace("-", "_")


def forget_files() -> None:
    """Read the files again when the next setting is asked for."""
    _READ.clear()


_READ: list[tuple[dict[str, Setting], ...]] = []


def _tables() -> tuple[dict[str, Setting], ...]:
    if not _READ:
        _READ.append(tuple(_settings(*found) for found in (_of_project(), _of_user()) if found))
    return _READ[0]


def _of_project() -> tuple[Path, str, bool] | None:
    """Return the file, its text, and that it is a project's; None where there is none."""
    try:
        here = Path.cwd()
    except OSError:  # the directory was removed
        return None
    for directory in (here, *here.parents):
        path = directory / "pyproject.toml"
        text = _text(path)
        if text is not None and f"[{TABLE}" in text:
            return path, text, True
    return None


def _of_user() -> tuple[Path, str, bool] | None:
    shared = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(shared) if os.path.isabs(shared) else Path(os.path.expanduser("~/.config"))
    path = base / "polyopt" / "config.toml"
    text = _text(path)
    return None if text is None else (path, text, False)


def _text(path: Path) -> str | None:
    if not is_readable(path, MOST_TEXT):
        return None
    try:
        return read_text(path, MOST_TEXT)
    except (OSError, ValueError):
        return None


def _settings(path: Path, text: str, is_project: bool) -> dict[str, Setting]:
    """Return what a file chooses; raises `UsageError` for what it must not hold."""
    table: object = _parsed(path, text)
    if is_project:
        for key in TABLE.split("."):
            table = table.get(key, {}) if isinstance(table, dict) else table
    if not isinstance(table, dict):
        raise _wrong(path, text, TABLE, f"`{TABLE}` is not a table", "write `[tool.polyopt]`")
    found = {}
    for name, value in table.items():
        known = SETTINGS.get(name)
        if known is None:
            hint = f"settings are {', '.join(SETTINGS)}"
            raise _wrong(path, text, name, f"there is no setting `{name}`", hint)
        if is_project and not known.by_project:
            reason = f"`{name}` is what polyopt runs or loads, and a project may not choose it"
            hint = f"set {variable_of(name)}, or write it into {_user_file()}"
            raise _wrong(path, text, name, reason, hint)
        found[name] = Setting(_as_text(path, text, name, value), str(path))
    return found


def _user_file() -> str:
    return "polyopt/config.toml in the directory of your settings (~/.config)"


def _as_text(path: Path, text: str, name: str, value: object) -> str:
    """Return a value as a variable would have it; files are relative to the one naming them."""
    match value:
        case bool():
            return "1" if value else "0"
        case int() | float():
            return str(value)
        case str() if value and "\0" not in value:
            is_file = name in ("machine", "tunings") and (path.parent / value).is_file()
            return str(path.parent / value) if is_file else value
    reason = f"`{name}` is {value!r}"
    raise _wrong(path, text, name, reason, "write a text, a number, true or false")


def _parsed(path: Path, text: str) -> dict[str, object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        found: dict[str, object] = tomllib.loads(text)
        return found
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _wrong(path, text, "", f"{path.name} is not TOML: {error}", "correct it") from None


def _wrong(path: Path, text: str, name: str, reason: str, hint: str) -> UsageError:
    """Return the error at the line of a name."""
    lines = text.splitlines() or [""]
    begin = next((i for i, line in enumerate(lines) if line.startswith(f"[{TABLE}")), 0)
    named = (i for i in range(begin, len(lines)) if name and lines[i].lstrip().startswith(name))
    row = next(named, begin)
    column = lines[row].find(name) + 1 if name else 1
    place = max(column, 1)
    loc = Loc(str(path), row + 1, place, row + 1, place + max(len(name), 1))
    return UsageError("PO0237", f"settings: {reason}", loc=loc, hint=hint)
