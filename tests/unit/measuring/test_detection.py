"""What Linux lists of the processor."""

from __future__ import annotations

from polyopt.machine import Machine
from polyopt.measuring.detection import CacheFacts, caches_in, vectors_of, with_caches


def test_vectors_by_instruction_set():
    assert vectors_of(frozenset({"avx", "avx512f"})) == (64, 32)
    assert vectors_of(frozenset({"avx", "avx2"})) == (32, 16)
    assert vectors_of(frozenset({"asimd"})) == (16, 32)
    assert vectors_of(frozenset()) == (16, 16)


def test_caches_from_sysfs(tmp_path):
    listed = [("1", "Data", "48K", "12"), ("1", "Instruction", "32K", "8"),
              ("2", "Unified", "2048K", "none"), ("3", "Unified", "32M", "16"),
              ("4", "Unified", "junk", "1")]  # fmt: skip
    for number, (level, kind, size, ways) in enumerate(listed):
        entry = tmp_path / f"index{number}"
        entry.mkdir()
        (entry / "level").write_text(level)
        (entry / "type").write_text(kind)
        (entry / "size").write_text(size + "\n")
        (entry / "ways_of_associativity").write_text(ways)
    (tmp_path / "index0" / "coherency_line_size").write_text("128\n")
    found = caches_in(tmp_path)
    assert found == {
        1: CacheFacts(48 << 10, 12, 128), 2: CacheFacts(2 << 20), 3: CacheFacts(32 << 20, 16)
    }  # fmt: skip
    machine = with_caches(Machine(), found)
    assert (machine.l1, machine.l1_ways, machine.line) == (48 << 10, 12, 128)
    assert (machine.l2, machine.l2_ways) == (2 << 20, Machine().l2_ways)
    assert caches_in(tmp_path / "missing") == {}


def test_a_fourth_level_changes_nothing():
    assert with_caches(Machine(), {4: CacheFacts(1 << 30, 16)}) == Machine()
