"""The clock of calls: chosen by name, inherited by workers, refused for several threads."""

from __future__ import annotations

import pytest

from bench import clock
from bench.process import environment_of
from bench.unseen import __main__ as unseen
from polyopt.cli import main


@pytest.mark.parametrize("name, expected", [("wall", 3.0), ("processor", 5.0)])
def test_the_clock_is_the_one_that_was_chosen(monkeypatch, name, expected):
    monkeypatch.setenv(clock.VARIABLE, "")
    monkeypatch.setattr(clock, "perf_counter", lambda: 3.0)
    monkeypatch.setattr(clock, "process_time", lambda: 5.0)
    clock.choose(name)
    assert clock.now() == expected
    assert environment_of("python", 1)[clock.VARIABLE] == name


def test_it_is_the_walls_unless_another_was_chosen(monkeypatch):
    monkeypatch.delenv(clock.VARIABLE, raising=False)
    assert clock.name() == "wall"


def test_several_threads_have_no_processor_time(capsys):
    with pytest.raises(SystemExit):
        unseen.asked(["--clock", "processor", "--threads", "1,2"])
    assert "compares one thread" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "gemm", "--clock", "processor"])
    assert "--clock processor compares one thread: --threads 1" in capsys.readouterr().err
