"""What TPU and GPU compilers write, read: real optimized HLO of `tanh(a @ b).sum(0)` for a v5e and an H100."""

from collections.abc import Callable
from pathlib import Path

import pytest

from xlascope.analysis.costs.estimates import (
    ChipPeaks,
    count_kernel_runs,
    count_kernel_work,
    estimate_kernel_seconds,
)
from xlascope.readers import FormatError
from xlascope.readers.dumps.launches import Launch, read_launches
from xlascope.readers.hlo.cycles import read_estimated_cycles
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.layouts import memory_bytes, special_layout
from xlascope.readers.hlo.text import read_module

Sample = Callable[[str], str]

ASYNC = """HloModule f
%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %sin = f32[8]{0} sine(%p), metadata={op_name="jit(f)/e0/sin"}
}
ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %begin = ((f32[8]{0}), f32[8]{0}, u32[]) fusion-start(%x), kind=kLoop, calls=%fused
  %neg = f32[8]{0} negate(%x), metadata={op_name="jit(f)/e1/neg"}
  %middle = ((f32[8]{0}), f32[8]{0}, u32[]) fusion-update(%begin)
  %end = f32[8]{0} fusion-done(%middle)
  ROOT %add = f32[8]{0} add(%end, %neg), metadata={op_name="jit(f)/e2/add"}
}"""

LOOP = """HloModule f
%body (s: (s32[], f32[1000])) -> (s32[], f32[1000]) {
  %s = (s32[], f32[1000]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %v = f32[1000]{0} get-tuple-element(%s), index=1
  %sin = f32[1000]{0} sine(%v)
  ROOT %t = (s32[], f32[1000]{0}) tuple(%i, %sin)
}
%condition (s: (s32[], f32[1000])) -> pred[] {
  %s.1 = (s32[], f32[1000]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT
}
ENTRY %main (x: (s32[], f32[1000])) -> (s32[], f32[1000]) {
  %x = (s32[], f32[1000]{0}) parameter(0)
  ROOT %loop = (s32[], f32[1000]{0}) while(%x), condition=%condition, body=%body%s
}"""


def test_the_kernels_of_a_tpu(sample: Sample) -> None:
    copy, fusion = read_kernels(sample("for_tpu"))
    assert (copy.opcode, fusion.kind) == ("copy-start", "output")  # the wait for the copy is no kernel
    assert fusion.equations == ("0", "1", "2")
    assert fusion.layout == "f32[512]{0:T(512)}"
    assert [(read.kernel, read.bytes) for read in fusion.reads] == [("copy-start", 0)]  # it stays on the chip
    assert (copy.bytes_read, copy.bytes_written) == (512 * 256 * 4, 0)
    assert (fusion.bytes_read, fusion.bytes_written) == (256 * 512 * 4, 512 * 4)
    assert fusion.bytes_saved == 2 * 2 * 512 * 512 * 4  # the product and tanh: the views of the factors are no results


def test_the_cycles_of_a_tpu(sample: Sample) -> None:
    assert read_estimated_cycles(read_module(sample("for_tpu"))) == {"fusion": 8078}


def test_the_kernels_of_a_gpu(sample: Sample) -> None:
    product, total = read_kernels(sample("for_gpu"))
    assert (product.kind, product.equations) == ("custom", ("0", "1"))
    assert (total.kind, total.equations) == ("input", ("2",))
    assert product.layout == total.layout == ""


def test_the_launches_of_a_gpu(sample: Sample, root: Path) -> None:
    text = (root / "tests/data/for_gpu.thunk_sequence.txt").read_text()
    names = [kernel.name for kernel in read_kernels(sample("for_gpu"))]
    assert read_launches(text, names) == {
        "gemm_fusion_dot_general.1": Launch((2048, 1, 1), (64, 1, 1), 1024),
        "input_reduce_fusion": Launch((8, 1, 1), (1024, 1, 1), 0),
    }


@pytest.mark.parametrize("text", ["", "001: kGemm [x] name\n002:"])
def test_steps_that_start_no_kernel_have_no_launch(text: str) -> None:
    assert read_launches(text, ["name"]) == {}


@pytest.mark.parametrize(
    "text", ["grid: [1] threads: []", "\0" * 100, "001: kKernel [x] name blocks: [8, 1, 1]", "step 1 starts name"]
)
def test_a_list_of_steps_in_another_form_says_so(text: str) -> None:
    with pytest.raises(FormatError, match=r"XLA's list of steps: expected NAME grid: .*, found '.*jaxlib 0\.10"):
        read_launches(text, ["name"])


def test_cycles_in_another_form_say_so(sample: Sample) -> None:
    with pytest.raises(FormatError, match='expected "estimated_cycles" in the backend_config of fusions, found none'):
        read_estimated_cycles(read_module(sample("for_tpu").replace("estimated_cycles", "cycle_estimate")))


def test_what_runs_beside_other_work_is_one_kernel() -> None:
    begun, negated, added = read_kernels(ASYNC)
    assert (begun.name, begun.kind, begun.equations) == ("begin", "loop", ("0",))
    assert (begun.bytes_read, begun.bytes_written) == (32, 32)
    assert [read.kernel for read in added.reads] == ["begin", "neg"]
    assert negated.equations == ("1",)


def test_what_a_library_works_in_is_no_result() -> None:
    (product,) = read_kernels("""HloModule f
ENTRY %main (a: f32[8,8]) -> (f32[8,8], s8[33554432]) {
  %a = f32[8,8]{1,0} parameter(0)
  ROOT %p = (f32[8,8]{1,0}, s8[33554432]{0}) custom-call(%a, %a), custom_call_target="__cublas$lt$matmul"
}""")
    assert (product.kind, product.bytes_written) == ("library call", 8 * 8 * 4)


def test_operations_are_counted_in_the_hlo(sample: Sample) -> None:
    work = count_kernel_work(read_module(sample("for_gpu")))
    product, total = work["gemm_fusion_dot_general.1"], work["input_reduce_fusion"]
    assert product.products == {"float32": 2 * 512 * 512 * 256}
    assert product.vector == 512 * 512  # tanh
    assert total.vector == 512 * 512


ROWS = [
    ("dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", {"float32": 2 * 8 * 32 * 16}),
    (
        "dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}",
        {"float32 highest": 2 * 8 * 32 * 16},
    ),
    ("convolution(%a, %b), dim_labels=bf_io->bf", {"float32": 2 * 8 * 32 * 16}),
    (
        'custom-call(%a, %b), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":'
        '{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"]}}}',
        {"float32": 2 * 8 * 32 * 16},
    ),
    (
        'custom-call(%a, %b), custom_call_target="__cublas$gemm", backend_config={"dot_dimension_numbers":'
        '{"lhs_contracting_dimensions":["1"]},"precision_config":{"operand_precision":["HIGHEST","HIGHEST"]}}',
        {"float32 highest": 2 * 8 * 32 * 16},
    ),
    ("add(%a, %b)", {}),
]


@pytest.mark.parametrize(("operation", "products"), ROWS)
def test_products_by_their_spelling(operation: str, products: dict[str, int]) -> None:
    text = f"""HloModule f
ENTRY %main (a: f32[8,16], b: f32[16,32]) -> f32[8,32] {{
  %a = f32[8,16]{{1,0}} parameter(0)
  %b = f32[16,32]{{1,0}} parameter(1)
  ROOT %r = f32[8,32]{{1,0}} {operation}
}}"""
    assert count_kernel_work(read_module(text))["r"].products == products


@pytest.mark.parametrize(
    ("said", "times"), [(', backend_config={"known_trip_count":{"n":"10"}}', 10), ("", 1)], ids=["known", "unknown"]
)
def test_loops_count_as_often_as_they_run(said: str, times: int) -> None:
    assert count_kernel_runs(read_module(LOOP.replace("%s\n}", f"{said}\n}}")))["sin"] == times


def test_the_roofline_is_the_longer_of_two(sample: Sample) -> None:
    text = sample("for_gpu")
    kernel, work = read_kernels(text)[0], count_kernel_work(read_module(text))["gemm_fusion_dot_general.1"]
    moved = kernel.bytes_read + kernel.bytes_written
    assert estimate_kernel_seconds(kernel, work, ChipPeaks(1e9, {"float32": 1e30}, 1e30)) == pytest.approx(moved / 1e9)
    computing = 2 * 512 * 512 * 256 / 1e9 + 512 * 512 / 1e12
    assert estimate_kernel_seconds(kernel, work, ChipPeaks(1e30, {"float32": 1e9}, 1e12)) == pytest.approx(computing)


TYPES = [
    ("f32[8,128]{1,0:T(8,128)}", 4096, True),
    ("f32[8,128]{1,0:T(8,128)S(1)}", 0, True),
    ("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}", 0, True),
    ("u32[]{:S(2)}", 0, True),
    ("f32[8,128]{1,0}", 4096, False),
    ("f32[8,128]{0,1}", 4096, True),
    ("f32[]", 4, False),
    ("(f32[2]{0}, s8[3]{0:T(4)S(1)})", 8, True),
]


@pytest.mark.parametrize(("type_text", "size", "special"), TYPES)
def test_types_say_where_values_lie(type_text: str, size: int, special: bool) -> None:
    assert memory_bytes(type_text) == size
    assert special_layout(type_text) == (type_text if special else "")
