"""The command as a whole, `doctor`, `machine`, `cache`, `bench` and completion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from polyopt.ir.budget import Budget

# -- doctor, cache, bench -----------------------------------------------------------------------


@pytest.mark.toolchain
def test_doctor(polyopt):
    outcome = polyopt("doctor")
    assert outcome.code == 0
    assert re.search(r"^ok    OpenMP ", outcome.out, re.MULTILINE)
    assert json.loads(polyopt("doctor", "--json").out)["facts"][0]["subject"] == "polyopt"


def test_machine(polyopt, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_L2", "777216")
    shown = polyopt("machine")
    assert shown.code == 0
    assert "L2: 759.0 kB of a core" in shown.out
    assert "vector types: yes" in shown.out
    written = polyopt("machine", "--json").out
    monkeypatch.delenv("POLYOPT_L2")
    (tmp_path / "machine.json").write_text(written)
    monkeypatch.setenv("POLYOPT_MACHINE", str(tmp_path / "machine.json"))
    again = json.loads(polyopt("machine", "--json").out)
    assert again == json.loads(written)
    assert again["machine"]["l2"] == 777216


def test_machine_says_which_number_is_wrong(polyopt, tmp_path, monkeypatch):
    (tmp_path / "machine.json").write_text('{"machine": {"l2": "large"}}')
    monkeypatch.setenv("POLYOPT_MACHINE", str(tmp_path / "machine.json"))
    refused = polyopt("machine")
    assert refused.code == 2
    assert "PO0224" in refused.err
    assert "`large`, not a positive number" in refused.err


def test_doctor_lists_numpy(polyopt):
    record = json.loads(polyopt("doctor", "--numpy", "--json").out)
    assert "sqrt" in record["functions"]


@pytest.mark.toolchain
def test_cache(polyopt, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 0
    polyopt("run", "demo.py:scale", "--sizes", "N=3")
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 1
    assert polyopt("cache", "clear").out.startswith("cache: removed ")
    assert json.loads(polyopt("cache", "info", "--json").out)["entries"]["kernels"] == 0
    monkeypatch.setenv("POLYOPT_CACHE", "0")
    assert polyopt("cache", "info").out == "cache: off; nothing is kept\n"


def test_bench_away_from_a_checkout(polyopt, monkeypatch, tmp_path):
    import polyopt as package

    monkeypatch.setattr(package, "__file__", str(tmp_path / "polyopt" / "__init__.py"))
    outcome = polyopt("bench")
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0616]: the comparison harness is not part of this ")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["gem"], "no workload gem; there are "),
        (
            ["--suite", "gem"],
            "there is no suite gem: choose among polybench, learning, science, speed",
        ),
        (["softmax", "--suite", "polybench"], "no workload softmax; there are "),
        (["--size", "HUGE"], "'HUGE' is not one of"),
    ],
)
def test_bench_refuses_unknown_names(polyopt, arguments, message):
    outcome = polyopt("bench", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("error[PO0600]: ")
    assert message in outcome.err


@pytest.mark.toolchain
def test_bench_prints_a_line_for_every_form(polyopt):
    outcome = polyopt("bench", "gesummv", "--size", "MINI", "--threads", "2")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines() if line.startswith("gesummv")]
    assert [(line[1], line[2], line[-1]) for line in lines] == [
        ("loops", "MINI", "yes"),
        ("numpy", "MINI", "yes"),
    ]
    assert all(len(line) == 8 for line in lines)


# -- the command as a whole ---------------------------------------------------------------------


def test_the_budget_of_a_command(polyopt, demo, monkeypatch):
    asked = []
    monkeypatch.setattr("polyopt.pipeline.Budget", lambda s: asked.append(s) or Budget(s))
    assert polyopt("explain", f"{demo}:blur", "--budget", "33").code == 0
    assert asked == [33.0]
    assert polyopt("explain", f"{demo}:blur", "--budget", "0").code == 2


def test_a_defect_leaves_a_file_and_no_traceback(polyopt, monkeypatch, tmp_path):
    import polyopt.cli.cmd_cache as command

    def fail():
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(command, "cache_info", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = polyopt("cache", "info")
    assert outcome.code == 70
    assert outcome.err.startswith("error[PO0901]: polyopt failed on its own account (ZeroDivision")
    assert outcome.err.count("\n") == 1
    [report] = tmp_path.glob("polyopt-crash-*.txt")
    assert "deep inside" in report.read_text()
    assert str(report) in outcome.err
    monkeypatch.setenv("POLYOPT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        polyopt("cache", "info")


def test_colours_only_where_they_are_welcome(polyopt, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in polyopt("run", "none.py:f").err
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert polyopt("run", "none.py:f").err.startswith("\x1b[1;31merror[PO0601]\x1b[0m")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in polyopt("run", "none.py:f").err


def test_version_and_help(polyopt):
    assert re.fullmatch(r"polyopt \d+\.\d+\.\d+\n", polyopt("--version").out)
    outcome = polyopt("--help")
    assert outcome.code == 0
    for verb in ("compile", "run", "check", "explain", "bench", "doctor", "machine", "cache"):
        assert verb in outcome.out


def test_an_interrupt_exits_with_130(write, tmp_path):
    """Also where the tests were started in the background: shells have these ignore SIGINT."""
    write("slow.py", "import time\nprint('here', flush=True)\nwhile True: time.sleep(0.1)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "polyopt", "check", "slow.py:f"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert (out, err.strip()) == ("", "interrupted")


def test_a_closed_pipe_is_no_error(tmp_path):
    command = f"{sys.executable} -m polyopt doctor --numpy | true"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_starts_without_numpy_and_isl():
    code = (
        "import sys; from polyopt.cli.app import run; run(['--help']);"
        "print(sorted({'numpy', 'islpy', 'sympy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"


# -- completion ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(polyopt, shell):
    outcome = polyopt("completion", shell)
    assert outcome.code == 0
    assert "_POLYOPT_COMPLETE" in outcome.out


def test_commands_and_options_are_completed():
    def completed(words: str, number: int) -> str:
        asked = {
            "_POLYOPT_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        }
        done = subprocess.run(
            [sys.executable, "-m", "polyopt"],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert "plain,compile" in completed("polyopt com", 1)
    assert "plain,--schedule" in completed("polyopt compile --sch", 2)


def test_other_shells_are_refused(polyopt):
    outcome = polyopt("completion", "csh")
    assert outcome.code == 2
    assert "PO0600" in outcome.err
