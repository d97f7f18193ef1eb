"""Numbers of the machine from a file."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from polyopt.errors import UsageError
from polyopt.machine import Machine, Rates, assumed_rates
from polyopt.measuring.detection import given_rates, overridden


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(text: object) -> None:
        path = tmp_path / "machine.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        monkeypatch.setenv("POLYOPT_MACHINE", str(path))

    for name in ("CORES", "L1", "L2", "FMA"):
        monkeypatch.delenv(f"POLYOPT_{name}", raising=False)
    return write


def test_a_file_gives_the_machine_and_variables_go_first(written, monkeypatch):
    written({"machine": {"l2": 4096, "cores": 7, "fma": False}})
    assert overridden(Machine()) == Machine(l2=4096, cores=7, fma=False)
    monkeypatch.setenv("POLYOPT_L2", "8192")
    assert overridden(Machine()).l2 == 8192


def test_rates_are_read_back_as_they_were_written(written):
    rates = replace(assumed_rates(Machine(cores=4)), is_measured=True)
    record = asdict(rates)
    del record["is_measured"]
    written({"machine": {}, "rates": record})
    assert given_rates() == rates
    written({"machine": {}})
    assert given_rates() is None


def _rates(**changes: object) -> dict[str, object]:
    record = asdict(assumed_rates(Machine()))
    del record["is_measured"]
    return {"rates": {**record, **changes}}


@pytest.mark.parametrize(
    "text, reason",
    [
        ("{", "it is not JSON"),
        ("[" * 60_000, "it is not JSON"),
        ("[" * 100_000, "it has over 65536 bytes"),
        ("[1]", "`machine` is not an object"),
        ({"machine": 3}, "`machine` is not an object"),
        ({"machine": {"l4": 3}}, "there is no `l4` in `machine`"),
        ({"machine": {"l2": 0}}, "`0`, not a positive number"),
        ({"machine": {"l2": -1}}, "not a positive number"),
        ({"machine": {"l2": 1.5}}, "not a positive number"),
        ({"machine": {"l2": "4"}}, "not a positive number"),
        ({"machine": {"l2": 1 << 60}}, "not a positive number"),
        (_rates(region=0), "not all positive"),
        (_rates(region="1"), "not all positive"),
        (_rates(one=None), "not what"),
        (_rates(one={"l1": 1.0}), "not what"),
        (_rates(two={}), "there is no `two` in `rates`"),
    ],
)
def test_wrong_files_are_refused(written, text, reason):
    written(text)
    with pytest.raises(UsageError) as caught:
        _read()
    assert caught.value.code == "PO0224"
    assert reason in caught.value.message
    assert "POLYOPT_MACHINE" in f"{caught.value.message} {caught.value.hint}"


def _read() -> None:
    overridden(Machine())
    given_rates()


def test_a_file_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_MACHINE", str(tmp_path / "none.json"))
    with pytest.raises(UsageError, match="No such file"):
        overridden(Machine())


def test_rates_of_one_and_of_all_cores():
    machine = Machine(cores=4)
    rates: Rates = assumed_rates(machine)
    assert rates.speeds(1, machine) is rates.one
    assert rates.speeds(4, machine) is rates.every
    assert rates.every.float64 == 4 * rates.one.float64
