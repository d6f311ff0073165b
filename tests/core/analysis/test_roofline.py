"""How many bytes move, what bounds a kernel: by hand-made examples."""

import pytest

from xlascope.analysis.costs.call_times import DeviceCall, KernelCall
from xlascope.analysis.costs.roofline import Utilization, compute_utilization, kernel_flops, rank_kernels
from xlascope.analysis.folded_products import add_folded_products
from xlascope.inspect.text import doubtful_lines
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.text import read_module
from xlascope.readers.hlo.traffic import Traffic
from xlascope.records import Ceilings, Compiled, Equation, Jaxpr, Kernel, Traced, Variable
from xlascope.records.traits import PERMUTES, PRODUCT

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
    traits = {"dot_general": tuple(PRODUCT), "transpose": tuple(PERMUTES)}
    traced = Traced(1, "f", 0.0, 0.1, JAXPR, "", "", traits=traits)
    assert add_folded_products(compiled(library), traced).kernels[0].equations == ("0", "1")
    assert add_folded_products(compiled(other), traced).kernels == (other,)
    assert add_folded_products(compiled(library, kernel("dot.2", "0")), traced).kernels[0] == library  # it is elsewhere
    assert add_folded_products(compiled(library), None).kernels == (library,)


def test_operations_are_counted_once() -> None:
    kernels = (
        kernel("dot", "0", "1"),
        kernel("first", "2", "3", bytes_moved=2999),
        kernel("second", "3", bytes_moved=999),
        kernel("loop", "9", kind="call"),
        kernel("unknown"),
    )
    assert kernel_flops(kernels, JAXPR) == {"dot": 4000, "first": 8 + 7.5, "second": 2.5}  # by the bytes they read
    assert kernel_flops(kernels, JAXPR, devices=2) == {}  # they count whole arrays, and each device has a part
    assert sum(kernel_flops(kernels, JAXPR).values()) == sum(each.flops for each in JAXPR.equations)


def test_what_moves_an_operand_into_place_computes_nothing() -> None:
    turned = Kernel("turn", "transpose", "single", "f32[8]", ("0",), 1, 0, 1000, 1000, 0)
    assert kernel_flops((turned, kernel("dot", "0")), JAXPR) == {"turn": 0, "dot": 4000}


def test_nobody_counts_the_work_of_equations_known_by_names_alone() -> None:
    named = Jaxpr("f", (), (), (), {}, (Equation("0", "dot_general", "", (), ()),))
    assert named.by_names and not JAXPR.by_names
    assert kernel_flops((kernel("dot", "0"),), named) == {}
    (dot,) = rank_kernels(device(KernelCall("dot", 8e-6, 1, 1.0)), compiled(kernel("dot", "0")), {}, CEILINGS)
    assert (dot.flops, dot.flop_rate, dot.utilization.compute) == (None, None, None)
    assert dot.utilization.words == "neither (memory 12 %)"


def device(*kernels: KernelCall) -> DeviceCall:
    return DeviceCall("cpu:0", 1e-4, 1e-4, 1.0, kernels)


def test_the_hottest_kernel_is_first_and_knows_its_bound() -> None:
    kernels = (kernel("dot", "0"), kernel("sin", "2", bytes_moved=64), kernel("loop", "9", kind="call"))
    calls = (KernelCall("dot", 10e-6, 2, 0.8), KernelCall("loop", 2e-6, 1, 0.16), KernelCall("sin", 1e-7, 1, 0.04))
    dot, loop, sin = rank_kernels(device(*calls), compiled(*kernels), kernel_flops(kernels, JAXPR), CEILINGS)
    assert dot.utilization == (pytest.approx(4000 / 1e9 / 5e-6), pytest.approx(1000 / 1e9 / 5e-6))  # of one run
    assert dot.flop_rate == pytest.approx(4000 / 5e-6) and dot.utilization.words == "compute, 80 %"
    assert (loop.utilization.limit, loop.utilization, loop.flops) == ("", (None, None), None)
    assert sin.utilization.words == "memory, 64 %"
    assert compute_utilization(0, 0, 0.0, CEILINGS) == compute_utilization(1, 1, 1.0, None) == (None, None)


@pytest.mark.parametrize(
    ("parts", "bound", "words"),
    [
        ((0.01, 0.03), "neither", "neither (memory 3 %, compute 1 %)"),  # once called "bound by memory, 3 %"
        ((0.0, 0.59), "neither", "neither (memory 59 %, compute 0 %)"),
        ((0.0, 0.597), "memory", "memory, 60 %"),  # as it is told
        ((0.6, 0.1), "compute", "compute, 60 %"),
        ((0.7, 0.8), "memory", "memory, 80 %"),
        ((1.08, 0.8), "compute", "compute, 108 %"),  # a little faster than what the ceiling was measured with
        ((2.65, 0.8), "compute", "doubtful: above the measured peak"),  # once "compute, 265 %"
        ((0.1, 2.16), "neither", "neither, in cache (memory 216 %, compute 10 %)"),
        ((0.7, 2.0), "compute", "compute, 70 %"),
        ((None, 0.2), "neither", "neither (memory 20 %)"),
        ((0.001, 0.002), "neither", "neither (memory < 1 %, compute < 1 %)"),
        ((None, None), "", ""),
    ],
)
def test_a_kernel_is_bound_by_a_ceiling_that_it_comes_near(parts: tuple[float, float], bound: str, words: str) -> None:
    assert (Utilization(*parts).limit, Utilization(*parts).words) == (bound, words)


def test_a_kernel_above_the_measured_peak_is_doubtful() -> None:
    """It once was bound by compute, 265 %."""
    calls = (KernelCall("dot.1", 4000 / 2.65e9, 1.0, 0.9), KernelCall("dot.2", 1.0, 1.0, 0.1))
    device = DeviceCall("cpu:0", 1.0, 1.0, 1.0, calls)
    hot = rank_kernels(
        device, compiled(kernel("dot.1", "0"), kernel("dot.2", "0")), {"dot.1": 4000, "dot.2": 10}, CEILINGS
    )
    assert [each.utilization.is_doubtful for each in hot] == [True, False]
    (line,) = doubtful_lines(hot)
    assert line.startswith("1 kernel above the measured peak: the time or the calibration is doubtful")
    assert doubtful_lines(hot[1:]) == []
