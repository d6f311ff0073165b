"""Which results of other kernels a kernel reads: for each way that HLO passes a value on, and as XLA writes it."""

from collections.abc import Callable

import pytest

from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.text import type_bytes
from xlascope.records import Read

A, B = "f32[4]{0}", "f32[8]{0}"

#: What lies between the kernel %one (or %two, which has two results) and the kernel %last, and what %last reads then.
BETWEEN = {
    "directly": ([], "one", [Read("one", 0, "f32[4]", 16)]),
    "a bitcast, which changes the reader's type": (
        ["%b = f32[2,2]{1,0} bitcast(%one)"],
        "b",
        [Read("one", 0, "f32[4]", 16)],
    ),
    "the second of two results": (
        [f"%g = {B} get-tuple-element(%two), index=1"],
        "g",
        [Read("two", 1, "f32[8]", 32)],
    ),
    "a tuple that was put together": (
        [
            f"%g = {B} get-tuple-element(%two), index=1",
            f"%t = ({A}, {B}) tuple(%one, %g)",
            f"%h = {B} get-tuple-element(%t), index=1",
        ],
        "h",
        [Read("two", 1, "f32[8]", 32)],
    ),
    "an argument is no kernel": ([], "x", []),
    "a constant is no kernel": ([f"%c = {A} constant({{1, 2, 3, 4}})"], "c", []),
}

MODULE = """HloModule m
ENTRY %main (x: f32[4]) -> f32[4] {{
  %x = f32[4]{{0}} parameter(0)
  %one = f32[4]{{0}} sine(%x)
  %two = (f32[4]{{0}}, f32[8]{{0}}) custom-call(%x), custom_call_target="two"
  {between}
  ROOT %last = f32[4]{{0}} cosine(%{operand})
}}"""

CALLED = """HloModule m
%body (p: f32[4], q: f32[4]) -> f32[4] {
  %q = f32[4]{0} parameter(1)
  %p = f32[4]{0} parameter(0)
  ROOT %inner = f32[4]{0} add(%q, %p)
}
ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %one = f32[4]{0} sine(%x)
  %call = f32[4]{0} call(%x, %one), to_apply=%body
  ROOT %last = f32[4]{0} cosine(%call)
}"""


def reads(text: str) -> dict[str, list[Read]]:
    return {kernel.name: list(kernel.reads) for kernel in read_kernels(text)}


@pytest.mark.parametrize("how", BETWEEN)
def test_what_a_kernel_reads(how: str) -> None:
    lines, operand, expected = BETWEEN[how]
    assert reads(MODULE.format(between="\n  ".join(lines), operand=operand))["last"] == expected


def test_values_pass_through_a_call_in_the_order_of_its_parameters() -> None:
    found = reads(CALLED)
    assert found["inner"] == [Read("one", 0, "f32[4]", 16)]
    assert found["last"] == [Read("inner", 0, "f32[4]", 16)]
    assert found["call"] == []  # what is inside reads, not the call


def test_a_loop_passes_its_state_on(sample: Callable[[str], str]) -> None:
    found = reads(sample("while_loop"))
    inside = {read.kernel for kernel, all in found.items() for read in all if kernel != "while.5"}
    assert "while.5" in inside


@pytest.mark.parametrize("name", ["nested_calls", "while_loop", "several_kinds", "large_rows"])
def test_as_xla_writes_it(name: str, sample: Callable[[str], str]) -> None:
    kernels = read_kernels(sample(name))
    names = {kernel.name for kernel in kernels}
    every = [read for kernel in kernels for read in kernel.reads]
    assert every
    for read in every:
        assert read.kernel in names and read.bytes == type_bytes(read.type_text)


def test_a_name_that_leads_in_a_circle_ends() -> None:
    circle = MODULE.format(between="%b = f32[4]{0} bitcast(%d)\n  %d = f32[4]{0} bitcast(%b)", operand="b")
    assert reads(circle)["last"] == []
