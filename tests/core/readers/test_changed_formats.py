"""A form that an XLA of tomorrow may write: each reader says what it expected and what it found, and gives no less."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xlascope.readers import FormatError
from xlascope.readers.dumps import (
    list_snapshots,
    read_fusion_dump,
    read_fusion_log,
    read_fusion_page,
    read_fusion_process,
    read_passes,
)
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.provenance import provenance_of
from xlascope.readers.hlo.text import read_module
from xlascope.readers.memory.buffer_assignment import read_buffers
from xlascope.readers.memory.wire_format import iter_fields

DATA = Path(__file__).resolve().parents[2] / "data"
LOG = (DATA / "dumps/cpu.log").read_text()
RENAMED = [
    f"I0101 00:00:00.000000 1 instruction_fusion.cc:1] Merging %a = add(%p) fuses into %b: {why}" for why in "xyz"
]
KNOWN = r"\(this reader knows the form of jaxlib 0\.10 to 0\.12\)$"


def page(*labels: str) -> str:
    return f"const frames = {json.dumps([[0, label, ''] for label in labels])};"


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: read_kernels("HloModule m\n%main = func(x) {\n  sin x\n}"), "the HLO text: expected instructions"),
        (lambda: read_kernels("HloModule m\nentry main\n"), "the HLO text: expected an ENTRY computation, found none"),
        (lambda: read_kernels("ENTRY %m (a: f32[]) -> f32[] {\n  %x = add\n}"), "expected an instruction in line 2"),
        (
            lambda: read_fusion_log(RENAMED),
            "the compiler's log: expected fusion decisions, found lines such as 'Merging",
        ),
        (lambda: read_fusion_page(page("a and b merged")), "expected sentences about fusion, found such as 'a and b"),
        (lambda: read_fusion_page("const steps = []"), "a fusion dump of XLA's: no frames in the page"),
        (lambda: read_fusion_process("fusion_steps {\n  merge {\n    a: 1\n  }\n}\n"), "found such as merge"),
    ],
)
def test_another_form_is_an_error_that_says_what_was_expected(read: Callable[[], Any], message: str) -> None:
    with pytest.raises(FormatError, match=rf"{message}.*{KNOWN}"):
        read()


def test_a_dumps_error_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x_fusion.html"
    file.write_text(f"<html>{page('a and b were merged')}")
    with pytest.raises(FormatError, match=rf"x_fusion\.html, the labels of a fusion dump: .*{KNOWN}"):
        read_fusion_dump(file)


def test_labels_of_another_kind_beside_known_ones_are_passed_over() -> None:
    assert len(read_fusion_page(page("new words", "Not fusing |a| into |b| as no")).decisions) == 1


@pytest.mark.parametrize("log", ["", "nothing of fusion", LOG[: len(LOG) // 20]])
def test_a_log_that_tells_nothing_is_none_in_another_form(log: str) -> None:
    assert read_fusion_log(log.splitlines()).complete


def test_a_snapshot_in_another_form_is_named(tmp_path: Path) -> None:
    name = "module_0001.f.0001.p.after_a.txt"
    (tmp_path / name).write_text("module {\n  sin x\n}")
    with pytest.raises(FormatError, match=rf"{name}, an HLO snapshot: expected instructions, found none"):
        read_passes(list_snapshots(tmp_path))


def moved_fields(message: bytes) -> bytes:
    """A message in which each field is of number 15."""
    found = b""
    for _, value in iter_fields(message):
        if isinstance(value, bytes):
            size, length = len(value), b""
            while size > 127:
                length, size = length + bytes([size & 127 | 128]), size >> 7
            found += bytes([15 << 3 | 2]) + length + bytes([size]) + value
    return found


@pytest.fixture(scope="module")
def plan(load_program: Callable[[str], Any]) -> tuple[bytes, bytes, Any]:
    executable = load_program("several_kinds")
    module = executable.hlo_modules()[0]
    stats = executable.get_compiled_memory_stats()
    text = read_module(module.to_string())
    return stats.serialized_buffer_assignment_proto, module.as_serialized_hlo_module_proto(), text


def test_fields_that_moved_are_no_empty_plan(plan: tuple[bytes, bytes, Any]) -> None:
    assignment, proto, module = plan
    known = provenance_of(module)
    with pytest.raises(FormatError, match=rf"XLA's plan of memory .*: expected logical buffers in field 1.*{KNOWN}"):
        read_buffers(moved_fields(assignment), proto, module, known)
    with pytest.raises(FormatError, match=rf"XLA's module .*: expected the \d+ instructions of .*, found 0.*{KNOWN}"):
        read_buffers(assignment, moved_fields(proto), module, known)
