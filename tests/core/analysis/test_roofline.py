"""Who works for which equation, how many bytes move, what bounds a kernel: by hand-made examples."""

import pytest

from xlascope.analysis.costs.roofline import attributed_share, hottest, kernel_flops, roof
from xlascope.analysis.folded_products import with_folded
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.provenance import agreed, provenance
from xlascope.readers.hlo.text import read_module
from xlascope.readers.hlo.traffic import Traffic
from xlascope.records import Ceilings, Compiled, DeviceTime, Equation, Jaxpr, Kernel, KernelTime, Traced, Variable

LOOP = """HloModule m, is_scheduled=true
%body (s: (s32[], f32[8])) -> (s32[], f32[8]) {
  %s = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x = f32[8]{0} get-tuple-element(%s), index=1
  %copy.1 = s32[] copy(%i)
  %next = s32[] add(%copy.1, %copy.1), metadata={op_name="jit(f)/e1/scan"}
  %sin.1 = f32[8]{0} sine(%x), metadata={op_name="jit(f)/e1/jit(body)/e0/sin"}
  ROOT %out = (s32[], f32[8]{0}) tuple(%next, %sin.1)
}
%cond (s: (s32[], f32[8])) -> pred[] {
  %s.1 = (s32[], f32[8]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT, metadata={op_name="jit(f)/e1/scan"}
}
%reduce (p: f32[8]) -> f32[2] {
  %p = f32[8]{0} parameter(0)
  ROOT %window = f32[2]{0} slice(%p), slice={[0:2]}
}
ENTRY %main (x: f32[8]) -> (f32[8], f32[2]) {
  %x.1 = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %copy.2 = s32[] copy(%zero)
  %copy.3 = f32[8]{0} copy(%x.1)
  %init = (s32[], f32[8]{0}) tuple(%copy.2, %copy.3)
  %while.1 = (s32[], f32[8]{0}) while(%init), condition=%cond, body=%body, metadata={op_name="jit(f)/e1/scan"}
  %result = f32[8]{0} get-tuple-element(%while.1), index=1
  %wrapped = f32[2]{0} fusion(%result), kind=kLoop, calls=%reduce
  %exp.1 = f32[2]{0} exponential(%wrapped), metadata={op_name="jit(f)/e2/exp"}
  %copy.4 = f32[8]{0} copy(%result)
  %stray = f32[8]{0} custom-call(), custom_call_target="Nothing"
  ROOT %both = (f32[8]{0}, f32[2]{0}) tuple(%copy.4, %exp.1)
}"""


@pytest.mark.parametrize(
    ("computation", "instruction", "paths"),
    [
        ("main", "copy.2", ("1",)),  # the loop whose carry it becomes
        ("main", "copy.3", ("1",)),
        ("main", "wrapped", ("2",)),  # made for what uses it
        ("reduce", "window", ("2",)),  # and so is what is inside
        ("main", "copy.4", ("1",)),  # a copy of a result: what made it
        ("body", "copy.1", ("1",)),
        ("body", "sin.1", ("1/0",)),
        ("main", "stray", ()),
    ],
)
def test_what_xla_left_without_a_name_works_for_something(computation: str, instruction: str, paths: object) -> None:
    assert provenance(read_module(LOOP))[computation, instruction] == paths


def test_ten_thousand_unnamed_instructions_in_a_row() -> None:
    lines = [f"  %n{i} = f32[] negate(%n{i - 1})" for i in range(1, 10_000)]
    text = "\n".join(["HloModule m", "ENTRY %main (x: f32[]) -> f32[] {", "  %n0 = f32[] parameter(0)", *lines, "}"])
    assert set(provenance(read_module(text)).values()) == {()}
    assert len(read_kernels(text)) == 9_999


def test_agreement_is_the_innermost_equation_that_holds_all() -> None:
    assert agreed([]) == agreed([(), ()]) == ()
    assert agreed([("4/1",), (), ("4/1",)]) == ("4/1",)
    assert agreed([("4/1", "4/2"), ("4/12/0",)]) == ("4",)
    assert agreed([("1", "2"), ("2", "3")]) == ("2",)
    assert agreed([("1/0",), ("10/0",)]) == ()


FUSIONS = """HloModule m
%update (a: f32[100,8], b: f32[8], i: s32[]) -> f32[100,8] {
  %a = f32[100,8]{1,0} parameter(0)
  %b = f32[8]{0} parameter(1)
  %i = s32[] parameter(2)
  %row = f32[1,8]{1,0} bitcast(%b)
  ROOT %dus = f32[100,8]{1,0} dynamic-update-slice(%a, %row, %i, %i)
}
%read (a: f32[100,8], i: s32[]) -> f32[8] {
  %a.1 = f32[100,8]{1,0} parameter(0)
  %i.1 = s32[] parameter(1)
  %ds = f32[1,8]{1,0} dynamic-slice(%a.1, %i.1, %i.1), dynamic_slice_sizes={1,8}
  ROOT %flat = f32[8]{0} bitcast(%ds)
}
%all (a: f32[100,8]) -> f32[100,8] {
  %a.2 = f32[100,8]{1,0} parameter(0)
  ROOT %neg = f32[100,8]{1,0} negate(%a.2)
}
ENTRY %main (x: f32[100,8], y: f32[8], j: s32[]) -> f32[8] {
  %x = f32[100,8]{1,0} parameter(0)
  %y = f32[8]{0} parameter(1)
  %j = s32[] parameter(2)
  %f.update = f32[100,8]{1,0} fusion(%x, %y, %j), kind=kLoop, calls=%update
  %f.all = f32[100,8]{1,0} fusion(%f.update), kind=kLoop, calls=%all
  ROOT %f.read = f32[8]{0} fusion(%f.all, %j), kind=kLoop, calls=%read
}"""


@pytest.mark.parametrize(
    ("name", "read", "written"), [("f.update", 32 + 4, 32), ("f.all", 3200, 3200), ("f.read", 32 + 4, 32)]
)
def test_a_kernel_that_touches_a_slice_moves_a_slice(name: str, read: int, written: int) -> None:
    module = read_module(FUSIONS)
    assert Traffic(module).of(module.entry, module.entry.instructions[name]) == (read, written)
    (kernel,) = (each for each in read_kernels(FUSIONS) if each.name == name)
    assert (kernel.bytes_read, kernel.bytes_written) == (read, written)


def kernel(name: str, *equations: str, kind: str = "loop", bytes_moved: int = 1000) -> Kernel:
    return Kernel(name, "fusion", kind, "f32[8]", equations, 1, 0, bytes_moved, 0, 0)


def equation(path: str, operation: str, inputs: str, outputs: str, flops: int = 0) -> Equation:
    return Equation(path, operation, "", tuple(inputs), tuple(outputs), flops=flops)


def program(*equations: Equation) -> Jaxpr:
    names = dict.fromkeys(name for each in equations for name in (*each.inputs, *each.outputs))
    variables = {name: Variable(name, (8,), "float32", False) for name in names}
    return Jaxpr("f", (), ("a",), (equations[-1].outputs[0],), variables, equations)


def compiled(*kernels: Kernel) -> Compiled:
    return Compiled(1, "f", 0.0, 0.1, "miss", "cpu", ("cpu:0",), "jit_f.1", kernels, "")


JAXPR = program(
    equation("0", "dot_general", "aa", "b", flops=4000),
    equation("1", "transpose", "b", "c"),
    equation("2", "sin", "c", "d", flops=8),
    equation("3", "reduce_sum", "d", "e", flops=10),
)
CEILINGS = Ceilings(1, "f", 0.0, "cpu:0", flops=1e9, bytes_per_second=1e9, source="a test")


def test_a_transposed_product_is_found_again() -> None:
    library, other = kernel("dot.1", "1", kind="library call"), kernel("turn", "1")
    traced = Traced(1, "f", 0.0, 0.1, JAXPR, "", "")
    assert with_folded(compiled(library), traced).kernels[0].equations == ("0", "1")
    assert with_folded(compiled(other), traced).kernels == (other,)
    assert with_folded(compiled(library, kernel("dot.2", "0")), traced).kernels[0] == library  # it is elsewhere
    assert with_folded(compiled(library), None).kernels == (library,)


def test_operations_are_counted_once() -> None:
    kernels = (
        kernel("dot", "0", "1"),
        kernel("first", "2", "3"),
        kernel("second", "3"),
        kernel("loop", "9", kind="call"),
    )
    assert kernel_flops(kernels, JAXPR) == {"dot": 4000, "first": 8 + 5, "second": 5}


def test_the_hottest_kernel_is_first_and_knows_its_bound() -> None:
    kernels = (kernel("dot", "0"), kernel("sin", "2", bytes_moved=64), kernel("loop", "9", kind="call"))
    times = (KernelTime("sin", 10, 1e-6), KernelTime("dot", 10, 80e-6), KernelTime("loop", 10, 19e-6))
    found = hottest(DeviceTime("cpu:0", 1e-4, times, ()), compiled(*kernels), JAXPR, CEILINGS)
    assert [each.kernel for each in found] == ["dot", "loop", "sin"]
    dot, loop, sin = found
    assert (dot.bound, dot.seconds, dot.share) == ("compute", pytest.approx(8e-6), pytest.approx(0.8))
    assert dot.of_ceiling == pytest.approx(4000 / 1e9 / 8e-6)
    assert (loop.bound, loop.of_ceiling, loop.flops) == ("", None, None)
    assert (sin.bound, sin.of_ceiling) == ("memory", pytest.approx(64 / 1e9 / 1e-7))
    assert roof(0, 0, 1.0, CEILINGS) == roof(1, 1, 0.0, CEILINGS) == roof(1, 1, 1.0, None) == ("", None)


def test_the_share_is_of_busy_time_and_never_more_than_all() -> None:
    kernels = (kernel("known", "0"), kernel("unknown"))
    times = (KernelTime("known", 1, 6.0), KernelTime("unknown", 1, 2.0))
    assert attributed_share([DeviceTime("cpu:0", 10.0, times, ())], kernels) == 0.6
    assert attributed_share([DeviceTime("cpu:0", 5.0, times, ())], kernels) == 0.75  # side by side
    assert attributed_share([], kernels) is None
