"""The harness in an installation: where it is found, what peers see of the project.

In: nothing.  Out: nothing.
"""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import polyopt
from bench import environment, process
from polyopt.cli.cmd_bench import checkout, command


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation: a package beside others, with the harness in it."""
    package = tmp_path / "site-packages" / "polyopt"
    harness = package / "harness"
    (harness / "workloads").mkdir(parents=True)
    (harness / "bench").mkdir()
    (harness / "bench" / "__main__.py").touch()
    (package / "__init__.py").write_text("HERE = True\n")
    (package.parent / "numpy.py").write_text("PROJECTS = True\n")
    monkeypatch.setattr(polyopt, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(process, "ROOT", harness)
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path / "bench"))
    monkeypatch.chdir(tmp_path)
    return harness


def test_an_installation_has_the_harness(installed):
    assert checkout() == installed


def test_a_wheel_has_the_harness_where_it_is_looked_for():
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((process.ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    for folder in ("bench", "workloads"):
        assert folder in wheel["only-include"]
        assert wheel["sources"][folder] == f"polyopt/harness/{folder}"
    assert "docs/errors.md" in wheel["only-include"]
    assert wheel["sources"]["docs"] == "polyopt/docs", "polyopt.report.catalogue looks there"


def test_a_peer_sees_polyopt_and_no_other_package_of_the_project(installed):
    seen = process.environment_of(str(installed / "bin" / "python"), 1)["PYTHONPATH"]
    code = "import polyopt; print(polyopt.HERE)\ntry:\n    import numpy; print(numpy.PROJECTS)\n"
    code += "except (ImportError, AttributeError):\n    print('no numpy of the project')"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {seen.split(':')}\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["True", "no numpy of the project"]
    assert process.own_packages() == process.own_packages(), "made once"


def test_an_installation_is_of_a_release_whatever_checkout_it_lies_in(installed, monkeypatch):
    monkeypatch.setattr(environment, "ROOT", installed)
    assert environment.describe()["commit"].startswith("release ")


def test_libraries_are_installed_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr("bench.peers.installing.install", lambda name: asked.append(name) or 0)
    assert CliRunner().invoke(command, ["--install", "numba,jax"]).exit_code == 0
    assert asked == ["numba", "jax"]
    refused = CliRunner().invoke(command, ["--install", "gcc"])
    assert refused.exit_code == 2
    assert "no library gcc; there are numba, pythran, jax" in " ".join(refused.output.split())
    monkeypatch.setattr("bench.peers.installing.install", lambda name: 1)
    assert CliRunner().invoke(command, ["--install", "numba"]).exit_code == 3
