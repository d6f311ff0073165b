"""What became of an edge between two equations, from a compiler's decisions and the HLO before them."""

from typing import Any

import pytest

from xlascope.analysis.verdicts import find_verdict
from xlascope.readers.hlo.text import read_module
from xlascope.records import FusionDecision

BEFORE = """HloModule jit_f
ENTRY %main (x: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %sin = f32[8]{0} sine(%x), metadata={op_name="jit(f)/e0/sin"}
  %mul = f32[8]{0} multiply(%sin, %x), metadata={op_name="jit(f)/e1/mul"}
  %bitcast = f32[2,4]{1,0} bitcast(%mul), metadata={op_name="jit(f)/e2/reshape"}
  %exp = f32[2,4]{1,0} exponential(%bitcast), metadata={op_name="jit(f)/e3/jit(g)/e0/exp"}
  %neg = f32[8]{0} negate(%x), metadata={op_name="jit(f)/e4/neg"}
  %relative = f32[8]{0} cosine(%x), metadata={op_name="e5/cos"}
  ROOT %tuple = (f32[2,4]{1,0}, f32[8]{0}, f32[8]{0}) tuple(%exp, %neg, %relative)
}
"""


def decision(action: Any, producer: str, consumer: str, result: str = "", reason: str = "") -> FusionDecision:
    return FusionDecision(0, "InstructionFusion", action, producer, consumer, result, reason)


DECISIONS = (
    decision("fused", "sin", "mul", "sine_multiply_fusion"),
    decision("refused", "sine_multiply_fusion", "bitcast", reason="no"),
    decision("refused", "bitcast", "exp", reason="never"),
)


@pytest.mark.parametrize(
    ("edge", "outcome", "about"),
    [
        (("0", "1"), "fused", 1),
        (("1", "0"), "fused", 1),
        (("1", "3"), "refused", 2),  # through the bitcast, and an equation that holds another
        (("0", "3/0"), "never", 0),  # not neighbours
        (("0", "4"), "never", 0),
        (("0", "9"), "gone", 0),
        (("0", "5"), "gone", 0),  # a name inside of a body: nobody knows of which
        (("sine_multiply_fusion", "3"), "refused", 2),
    ],
)
def test_verdicts(edge: tuple[str, str], outcome: str, about: int) -> None:
    found = find_verdict(edge, DECISIONS, read_module(BEFORE))
    assert (found.outcome, len(found.decisions)) == (outcome, about)


def test_a_pass_that_fuses_into_all_or_none() -> None:
    refusal = FusionDecision(0, "PriorityFusion", "refused", "sin", "elsewhere", "", "slower")
    assert find_verdict(("0", "1"), [refusal], read_module(BEFORE)).outcome == "refused"
