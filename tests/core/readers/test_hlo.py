from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.text import read_module, type_bytes, without_layout
from xlascope.records import Kernel

Sample = Callable[[str], str]


def by_name(text: str) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in read_kernels(text)}


def test_kernels_name_the_equations_of_every_call_site(sample: Sample) -> None:
    equations = [kernel.equations for kernel in read_kernels(sample("nested_calls"))]
    assert equations == [("0",), ("13",), ("12/4",), ("14/4",), ("12/5", "12/6/0"), ("14/5", "14/6/0")]


def test_a_fusion_is_counted_from_the_inside(sample: Sample) -> None:
    fusion = by_name(sample("nested_calls"))["tanh_maximum_fusion"]
    assert (fusion.opcode, fusion.kind, fusion.type_text) == ("fusion", "loop", "f32[64,10]")
    assert (fusion.instructions, fusion.unknown) == (3, 0)  # tanh, a broadcast constant, maximum
    assert (fusion.bytes_read, fusion.bytes_written) == (64 * 10 * 4, 64 * 10 * 4)
    assert fusion.bytes_saved == 2 * 64 * 10 * 4  # tanh's result; the broadcast constant would never be stored


def test_equal_names_three_levels_deep_stay_apart(sample: Sample) -> None:
    (fusion,) = read_kernels(sample("same_names"))
    assert fusion.equations == ("0/0/0/0", "0/0/1", "0/1")


def test_kernels_of_a_loop_follow_it(sample: Sample) -> None:
    kernels = read_kernels(sample("while_loop"))
    names = [kernel.name for kernel in kernels]
    loop = kernels[names.index("while.5")]
    assert (loop.kind, loop.equations) == ("call", ("3",))
    inside = [path for kernel in kernels[names.index("while.5") + 1 :] for path in kernel.equations]
    assert inside == ["3/0", "3/1/0", "3/0", "3/1/1", "3/1/2", "3/1/3"]


def test_a_library_call_may_hold_what_stands_around_a_product(sample: Sample) -> None:
    """The CPU's library takes in a sine and a sum beside the product since jaxlib 0.11."""
    before, now = (read_kernels(sample(name)) for name in ("while_loop", "while_loop.jaxlib_0_11"))
    (call,) = (kernel for kernel in now if kernel.kind == "library call")
    assert call.equations == ("3/1/0", "3/1/1", "3/1/2", "3/1/3")
    assert {path for kernel in now for path in kernel.equations} == {
        path for kernel in before for path in kernel.equations
    }


def test_kinds(sample: Sample) -> None:
    kinds = {name: kernel.kind for name, kernel in by_name(sample("several_kinds")).items()}
    assert kinds["sine_multiply_fusion"] == "loop"
    assert kinds["sort.1"] == "single"
    assert kinds["ynn_fusion"] == "library call"
    assert kinds["while.2"] == "call"


def test_a_copy_that_xla_adds_has_no_equation(sample: Sample) -> None:
    copy = by_name(sample("several_kinds"))["copy.10"]
    assert (copy.equations, copy.instructions, copy.unknown) == ((), 1, 1)  # the loop that carries it made nothing


@pytest.mark.parametrize("name", ["nested_calls", "while_loop", "large_rows", "same_names"])
def test_what_jaxlib_compiles_today_has_every_equation(name: str, sample: Sample, compiled: Sample) -> None:
    def equations(text: str) -> set[str]:
        return {path for kernel in read_kernels(text) for path in kernel.equations}

    assert equations(compiled(name)) == equations(sample(name)) != set()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("f32[8]{0} fusion(%x), kind=kInput, calls=%c", "input"),
        ("f32[8]{0} fusion(%x), kind=kOutput, calls=%c", "output"),
        ('f32[8]{0} fusion(%x), kind=kCustom, calls=%c, backend_config={"kind":"__triton"}', "custom"),
        ('f32[8]{0} custom-call(%x), custom_call_target="__cublas$gemm"', "library call"),
        ('f32[8]{0} custom-call(%x), custom_call_target="xla_ffi_python_cpu_callback"', "single"),
        ("f32[8]{0} call(%x), to_apply=%c", "call"),
        ("f32[8]{0} dot(%x, %x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "library call"),
        ("f32[8]{0} add(f32[8]{0} %x, f32[8]{0} %x)", "single"),
    ],
)
def test_kind_of_one_instruction(line: str, kind: str) -> None:
    text = (
        f"HloModule m\nENTRY %main (x: f32[8]) -> f32[8] {{\n  %x = f32[8]{{0}} parameter(0)\n  ROOT %y = {line}\n}}\n"
    )
    (kernel,) = read_kernels(text)
    assert kernel.kind == kind
    assert kernel.bytes_read == 32 * (2 if line.count("%x") == 2 else 1)


def test_attributes_end_where_metadata_begins_or_ends() -> None:
    """Metadata may say a name and no line, whose bracket is nobody's value, or a line and no name."""
    text = """HloModule jit_f
%fused (p: f32[4]) -> f32[4] {
  ROOT %p = f32[4]{0} parameter(0)
}
ENTRY %main (x: (f32[4], s32[])) -> f32[4] {
  %x = (f32[4]{0}, s32[]) parameter(0)
  %part = f32[4]{0} get-tuple-element(%x), index=0, metadata={op_name="jit(f)/e0/scan"}
  %other = s32[] get-tuple-element(%x), index=1, metadata={stack_frame_id=7}
  ROOT %fusion = f32[4]{0} fusion(%part), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/e0/scan"}
}"""
    main = read_module(text).entry.instructions
    assert main["part"].attribute("index") == "0" and main["other"].attribute("index") == "1"
    assert main["fusion"].attribute("kind") == "kLoop" and main["other"].attribute("stack_frame_id") == "7"


def test_a_called_computation_is_seen_through() -> None:
    text = """HloModule m
%inner (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %tanh = f32[8]{0} tanh(%p), metadata={op_name="jit(f)/e3/tanh;jit(f)/e5/tanh"}
}
%outlined (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  ROOT %fusion = f32[8]{0} fusion(%q), kind=kLoop, calls=%inner
}
ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %first = f32[8]{0} call(%x), to_apply=%outlined
  ROOT %second = f32[8]{0} call(%first), to_apply=%outlined
}"""
    kernels = by_name(text)
    assert list(kernels) == ["first", "fusion", "second"]
    assert kernels["fusion"].equations == ("3", "5")


def test_a_computation_that_calls_itself_ends() -> None:
    text = "ENTRY %m (x: f32[]) -> f32[] {\n  ROOT %x = f32[] OPCODE(%x), KEY=%m\n}"
    assert len(read_kernels(text.replace("OPCODE", "fusion").replace("KEY", "calls"))) == 1
    assert len(read_kernels(text.replace("OPCODE", "while").replace("KEY", "body"))) == 1


@pytest.mark.parametrize(
    "text", ["", "HloModule", "no HLO at all", "\0" * 1000, "HloModule m\n%c (p: f32[]) -> f32[] {\n}"]
)
def test_text_without_an_entry_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected (an ENTRY computation|instructions)"):
        read_kernels(text)


def test_truncated_text_says_so(sample: Sample) -> None:
    text = sample("nested_calls").rstrip()
    with pytest.raises(ValueError, match=r"stops inside computation %main.3: it is truncated"):
        read_kernels(text[:-1])


def test_a_broken_line_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected an instruction in line 2, found '%x = f32\[\] add\(%a'"):
        read_kernels("ENTRY %m (a: f32[]) -> f32[] {\n  %x = f32[] add(%a\n}")


@given(st.data())
def test_any_cut_and_any_noise_is_read_or_refused(sample: Sample, data: st.DataObject) -> None:
    text = sample("several_kinds")
    start, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    noise = data.draw(st.text('%(){}=, \n"\\/*[]calls=e0ROOTENTRY', max_size=40))
    try:
        read_kernels(text[:start] + noise + text[end:])
    except ValueError as error:
        assert "HLO text" in str(error)


@pytest.mark.parametrize(
    "rest",
    [
        "(" * 10**6,
        "f32[] add(" + "%a, " * 10**5,
        "f32[] add(%a), " + "kind" * 10**5,
        "f32[" + "a[" * 10**5 + "] add(%a)",
        "f32[] fusion(%a), " + "calls={" * 10**5,
        '(f32[] add(%a), metadata={op_name="' + "\\" * 10**5,
        'f32[] add(%a), metadata={op_name="' + '\\"' * 10**5,
        "(" + "/*" * 10**5 + ") add(%a)",
    ],
)
@pytest.mark.timeout(60)  # reading that goes back and forth would take hours
def test_hostile_lines_take_no_time(rest: str) -> None:
    try:
        read_kernels(f"ENTRY %m (a: f32[]) -> f32[] {{\n  %x = {rest}\n}}")
    except ValueError as error:
        assert "HLO text" in str(error)


@pytest.mark.timeout(60)  # in quadratic time it would take hours
def test_megabytes_take_linear_time(sample: Sample) -> None:
    body = sample("nested_calls").split("%fused_computation.3 ")[1].split("\n}")[0]
    computations = [f"%c{i} {body}\n}}" for i in range(4000)]
    lines = [f"  %f{i} = f32[64,10]{{1,0}} fusion(%a), kind=kLoop, calls=%c{i}" for i in range(4000)]
    text = "\n".join([*computations, "ENTRY %m (a: f32[64,10]) -> f32[64,10] {", *lines, "}"])
    assert len(read_kernels(text)) == 4000
    assert len(text) > 2_000_000


def test_op_names_are_unescaped(sample: Sample) -> None:
    module = read_module(sample("same_names"))
    names = [each.op_name for computation in module.computations.values() for each in computation.instructions.values()]
    assert 'jit(f)/e0/jit(g)/e0/jit(g_1)/e0/jit(g_2)/e0/tanh["é \\]' in names


@pytest.mark.parametrize(
    ("type_text", "size"),
    [
        ("f32[]", 4),
        ("bf16[3,5]{1,0}", 30),
        ("s4[3]", 2),
        ("f8e4m3fn[7]", 7),
        ("c64[2]", 16),
        ("pred[9]", 9),
        ("token[]", 0),
        ("f32[0,4]", 0),
        ("f32[<=8]", 32),
        ("(f32[64,128]{1,0:T(8,128)S(1)}, (s32[2], u8[]))", 64 * 128 * 4 + 9),
        ("()", 0),
    ],
)
def test_type_bytes(type_text: str, size: int) -> None:
    assert type_bytes(type_text) == size


def test_without_layout() -> None:
    assert without_layout("(f32[8]{0:T(8)}, /*index=1*/s32[])") == "(f32[8], s32[])"
