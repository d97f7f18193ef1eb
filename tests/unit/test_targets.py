"""Options and the description of the machine."""

from __future__ import annotations

import os
from dataclasses import fields

import pytest

from polyopt.errors import UsageError
from polyopt.machine import Machine
from polyopt.targets import FpMode, Options, detect_machine


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in [n for n in os.environ if n.startswith("POLYOPT_")]:
        monkeypatch.delenv(name)


def test_options_are_replaced_one_by_one():
    options = Options().changed({"fp": "fast", "threads": 3}).changed({"schedule": "source"})
    assert options == Options(FpMode.FAST, 3, "source", None)
    assert options.changed({"fp": FpMode.STRICT, "threads": None}).fp is FpMode.STRICT


@pytest.mark.parametrize(
    "values, code, hint",
    [
        ({"thread": 2}, "PO0221", "`threads`"),
        ({"optimize": 2}, "PO0221", "fp, threads, schedule, compiler"),
        ({"fp": "strikt"}, "PO0222", "`strict`"),
        ({"fp": 3}, "PO0222", "strict, reassociate, fast"),
        ({"threads": 0}, "PO0222", "from 1"),
        ({"threads": True}, "PO0222", "from 1"),
        ({"threads": "2"}, "PO0222", "from 1"),
        ({"schedule": 7}, "PO0222", "source"),
        ({"compiler": ""}, "PO0222", "gcc"),
        ({"compiler": 3}, "PO0222", "gcc"),
    ],
)
def test_wrong_options(values, code, hint):
    with pytest.raises(UsageError) as caught:
        Options().changed(values)
    assert caught.value.code == code
    assert hint in caught.value.hint


def test_a_schedule_object_stands_for_its_steps():
    class Like:
        text = "tile(L0, 32)"

    assert Options().changed({"schedule": Like()}).schedule == "tile(L0, 32)"
    Like.text = ""
    assert Options().changed({"schedule": Like()}).schedule == "source"


def test_detected_machine_is_plausible():
    machine = detect_machine()
    assert 1 <= machine.cores <= len(os.sched_getaffinity(0))
    assert machine.vector_bytes in (16, 32, 64)
    assert 8 << 10 <= machine.l1 <= machine.l2
    assert detect_machine() == machine


@pytest.mark.parametrize("field", [f.name for f in fields(Machine)])
def test_every_number_can_be_overridden(monkeypatch, field):
    name = f"POLYOPT_{field.upper()}"
    monkeypatch.setenv(name, "1")
    assert getattr(detect_machine(), field) == 1
    if field == "fma":
        monkeypatch.setenv(name, "0")
        assert detect_machine().fma is False
    for text in ("x", "-3", "1.5"):
        monkeypatch.setenv(name, text)
        with pytest.raises(UsageError) as caught:
            detect_machine()
        assert caught.value.code == "PO0224"


@pytest.mark.parametrize("name", ["parallel", "fastmath", "cache", "static_argnums"])
def test_options_of_other_compilers_are_answered(name):
    with pytest.raises(UsageError) as caught:
        Options().changed({name: True})
    assert caught.value.code == "PO0221"
    assert "the options are" not in str(caught.value.hint)
