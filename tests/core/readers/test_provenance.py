"""Which equation an instruction works for: what its name or its content proves, and nothing that is only likely."""

import pytest

from xlascope.readers.hlo.kernels import read_kernels
from xlascope.readers.hlo.provenance import data_of, provenance_of
from xlascope.readers.hlo.text import read_module

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
    ("computation", "instruction", "paths", "data"),
    [
        ("main", "copy.2", (), ()),  # a copy of a constant
        ("main", "copy.3", (), ()),  # of an argument: the loop that uses it did not make it
        ("main", "wrapped", (), ()),  # used by one equation, and yet the work of nobody known
        ("reduce", "window", (), ()),
        ("main", "copy.4", (), ("1",)),  # of what the loop made
        ("body", "copy.1", (), ("1",)),  # of what the loop carries
        ("body", "sin.1", ("1/0",), ("1/0",)),
        ("main", "stray", (), ()),
    ],
)
def test_use_proves_nothing_and_copies_are_copies(
    computation: str, instruction: str, paths: object, data: object
) -> None:
    module = read_module(LOOP)
    known = provenance_of(module)
    assert known[computation, instruction] == paths
    assert data_of(module, known)[computation, instruction] == data


def test_a_copy_of_a_loops_result_says_whose_it_is_and_has_no_equation() -> None:
    kernels = {each.name: each for each in read_kernels(LOOP)}
    assert (kernels["copy.4"].equations, kernels["copy.4"].moves) == ((), ("1",))
    assert (kernels["sin.1"].equations, kernels["sin.1"].moves) == (("1/0",), ())
    assert (kernels["wrapped"].equations, kernels["wrapped"].moves) == ((), ())


def test_the_copy_of_zeros_that_a_loop_starts_from_is_the_loops() -> None:
    text = """HloModule jit_f
%fill (zero: f32[]) -> f32[8] {
  %zero = f32[] parameter(0)
  ROOT %zeros = f32[8]{0} broadcast(%zero), dimensions={}
}
%body (c: (f32[8], f32[8])) -> (f32[8], f32[8]) {
  ROOT %c = (f32[8]{0}, f32[8]{0}) parameter(0)
}
%test (t: (f32[8], f32[8])) -> pred[] {
  %t = (f32[8]{0}, f32[8]{0}) parameter(0)
  ROOT %no = pred[] constant(false)
}
ENTRY %main () -> (f32[8], f32[8]) {
  %constant = f32[] constant(0)
  %fill.1 = f32[8]{0} fusion(%constant), kind=kLoop, calls=%fill
  %copy.1 = f32[8]{0} copy(%fill.1)
  %start = (f32[8]{0}, f32[8]{0}) tuple(%fill.1, %copy.1)
  ROOT %loop = (f32[8]{0}, f32[8]{0}) while(%start), condition=%test, body=%body, metadata={op_name="jit(f)/e3/while"}
}"""
    kernels = {each.name: each for each in read_kernels(text)}
    assert (kernels["fill.1"].equations, kernels["fill.1"].moves) == (("3",), ())
    assert (kernels["copy.1"].equations, kernels["copy.1"].moves) == ((), ("3",))


def test_copies_of_arguments_and_constants() -> None:
    """A donated argument is copied where it is read after a result was written over it."""
    text = """HloModule jit_f
%move (x: f32[2,8]) -> f32[8,2] {
  %x.1 = f32[2,8]{1,0} parameter(0)
  %turned = f32[8,2]{0,1} transpose(%x.1), dimensions={1,0}
  ROOT %copied = f32[8,2]{1,0} copy(%turned)
}
ENTRY %main (x: f32[2,8]) -> (f32[2,8], f32[8,2], s32[], f32[2,8]) {
  %x = f32[2,8]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %copy.1 = f32[2,8]{1,0} copy(%x)
  %move.1 = f32[8,2]{1,0} fusion(%x), kind=kLoop, calls=%move
  %copy.2 = s32[] copy(%zero)
  %negate.1 = f32[2,8]{1,0} negate(%x)
  %copy.3 = f32[2,8]{1,0} copy(%negate.1)
  ROOT %out = (f32[2,8], f32[8,2], s32[], f32[2,8]) tuple(%copy.1, %move.1, %copy.2, %copy.3)
}"""
    copies = {each.name: each.copies for each in read_kernels(text)}
    assert copies == {"copy.1": "an argument", "move.1": "an argument", "copy.2": "a constant"} | dict.fromkeys(
        ("negate.1", "copy.3"), ""
    )


def test_what_a_branch_is_given_is_its_conditionals() -> None:
    text = """HloModule jit_f
%first (x: f32[8]) -> f32[8] {
  %x.1 = f32[8]{0} parameter(0)
  ROOT %copy.1 = f32[8]{0} copy(%x.1)
}
%later (x: f32[8]) -> f32[8] {
  %x.2 = f32[8]{0} parameter(0)
  ROOT %sin.1 = f32[8]{0} sine(%x.2), metadata={op_name="jit(f)/e1/c/b1/e0/sin"}
}
ENTRY %main (i: s32[], x: f32[8]) -> f32[8] {
  %i = s32[] parameter(0)
  %x = f32[8]{0} parameter(1)
  ROOT %out = f32[8] conditional(%i, %x, %x), branch_computations={%first,%later}, metadata={op_name="jit(f)/e1/c"}
}"""
    module = read_module(text)
    known = provenance_of(module)
    assert known["first", "copy.1"] == () and data_of(module, known)["first", "copy.1"] == ("1",)


def test_ten_thousand_unnamed_instructions_in_a_row() -> None:
    for opcode in ("negate", "reduce-window", "multiply", "dot", "bitcast"):
        lines = [f"  %n{i} = f32[] {opcode}(%n{i - 1})" for i in range(1, 10_000)]
        text = "\n".join(
            ["HloModule m", "ENTRY %main (x: f32[]) -> f32[] {", "  %n0 = f32[] parameter(0)", *lines, "}"]
        )
        assert set(provenance_of(read_module(text)).values()) == {()}


#: The sum of squares as XLA's CPU compiler writes it: a product as multiply and sum, the sum in two steps.
NORM = """HloModule jit_f
%add.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
%max.1 (c: f32[], d: f32[]) -> f32[] {
  %c = f32[] parameter(0)
  %d = f32[] parameter(1)
  ROOT %top = f32[] maximum(%c, %d)
}
%first (x: f32[64], y: f32[64], zero: f32[]) -> f32[2] {
  %x = f32[64]{0} parameter(0)
  %y = f32[64]{0} parameter(1)
  %terms = f32[64]{0} multiply(%x, %y)
  %zero = f32[] parameter(2)
  ROOT %window = f32[2]{0} reduce-window(%terms, %zero), window={size=32 stride=32}, to_apply=%add.1
}
%second (halves: f32[2], zero.1: f32[]) -> f32[] {
  %halves = f32[2]{0} parameter(0)
  %zero.1 = f32[] parameter(1)
  %whole = f32[] reduce(%halves, %zero.1), dimensions={0}, to_apply=%add.1, metadata={op_name="jit(f)/e1/dot_general"}
  ROOT %root = f32[] sqrt(%whole), metadata={op_name="jit(f)/e2/sqrt"}
}
ENTRY %main (p: f32[64], q: f32[64]) -> f32[] {
  %p = f32[64]{0} parameter(0)
  %q = f32[64]{0} parameter(1)
  %none = f32[] constant(0)
  %ynn_fusion = f32[2]{0} fusion(%p, %q, %none), kind=kCustom, calls=%first, backend_config={"kind":"__ynn_fusion"}
  ROOT %sqrt_fusion = f32[] fusion(%ynn_fusion, %none), kind=kLoop, calls=%second
}"""

#: A product whose dot has lost its name: the value that is handed on has it.
PRODUCT = """HloModule jit_f
%scaled (x: f32[1,64]) -> f32[8,8] {
  %x = f32[1,64]{1,0} parameter(0)
  %flat = f32[64]{0} bitcast(%x), metadata={op_name="jit(f)/e1/dot_general"}
  %half = f32[64]{0} negate(%flat), metadata={op_name="jit(f)/e2/neg"}
  ROOT %square = f32[8,8]{1,0} bitcast(%half), metadata={op_name="jit(f)/e2/neg"}
}
ENTRY %main (a: f32[4,1], b: f32[4,64]) -> f32[8,8] {
  %a = f32[4,1]{1,0} parameter(0)
  %b = f32[4,64]{1,0} parameter(1)
  %dot.1 = f32[1,64]{1,0} dot(%a, %b), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT %neg_fusion = f32[8,8]{1,0} fusion(%dot.1), kind=kLoop, calls=%scaled
}"""

#: Two loops that start from the same zeros, which XLA keeps once and without a name.
ROOM = """HloModule jit_f
%fill (zero: f32[]) -> f32[8] {
  %zero = f32[] parameter(0)
  ROOT %zeros = f32[8]{0} broadcast(%zero), dimensions={}
}
%body (s: (s32[], f32[8])) -> (s32[], f32[8]) {
  %s = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x = f32[8]{0} get-tuple-element(%s), index=1
  ROOT %out = (s32[], f32[8]{0}) tuple(%i, %x)
}
%cond (s: (s32[], f32[8])) -> pred[] {
  %s.1 = (s32[], f32[8]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT, metadata={op_name="jit(f)/e1/scan"}
}
ENTRY %main (y: f32[8]) -> f32[8] {
  %y = f32[8]{0} parameter(0)
  %none = s32[] constant(0)
  %nil = f32[] constant(0)
  %wrapped = f32[8]{0} fusion(%nil), kind=kLoop, calls=%fill
  %copy.1 = f32[8]{0} copy(%wrapped)
  %init = (s32[], f32[8]{0}) tuple(%none, %wrapped)
  %init.1 = (s32[], f32[8]{0}) tuple(%none, %copy.1)
  %while.1 = (s32[], f32[8]{0}) while(%init), condition=%cond, body=%body, metadata={op_name="jit(f)/e1/scan"}
  %while.2 = (s32[], f32[8]{0}) while(%init.1), condition=%cond, body=%body, metadata={op_name="jit(f)/e3/scan"}
  %result = f32[8]{0} get-tuple-element(%while.1), index=1
  %result.1 = f32[8]{0} get-tuple-element(%while.2), index=1
  ROOT %sum = f32[8]{0} add(%result, %result.1), metadata={op_name="jit(f)/e4/add"}
}"""

OTHER_USER = "  %other = f32[2]{0} sine(%ynn_fusion)\n  ROOT %sqrt_fusion"
SECOND_DOT = '  %again = f32[1,64]{1,0} dot(%a, %b), metadata={op_name="jit(f)/e1/dot_general"}\n  ROOT %neg_fusion'


@pytest.mark.parametrize(
    ("text", "change", "found"),
    [
        (NORM, ("", ""), {"ynn_fusion": ("1",), "sqrt_fusion": ("1", "2")}),
        # The windows overlap, or leave holes: their sums are no part of the whole sum.
        (NORM, ("stride=32", "stride=16"), {"ynn_fusion": ()}),
        (NORM, ("stride=32", "stride=32 rhs_dilate=2"), {"ynn_fusion": ()}),
        # They are reduced by one function, and the whole by another.
        (NORM, ("stride=32}, to_apply=%add.1", "stride=32}, to_apply=%max.1"), {"ynn_fusion": ()}),
        # Somebody else takes them as well.
        (NORM, ("  ROOT %sqrt_fusion", OTHER_USER), {"ynn_fusion": (), "other": ()}),
        # A sum that is no product: what multiplies its terms is another equation, whose name is lost.
        (NORM, ("e1/dot_general", "e1/reduce_sum"), {"ynn_fusion": ("1",), "unknown": 1}),
        # Nothing but its user has a name.
        (NORM, (', metadata={op_name="jit(f)/e1/dot_general"}', ""), {"ynn_fusion": (), "sqrt_fusion": ("2",)}),
        (PRODUCT, ("", ""), {"dot.1": ("1",), "neg_fusion": ("2",)}),
        # The name of an equation that only moves: the bitcast is all of it, and its operand is another's work.
        (PRODUCT, ("e1/dot_general", "e1/reshape"), {"dot.1": ()}),
        # The name stands on a dot as well: this one is another.
        (PRODUCT, ("  ROOT %neg_fusion", SECOND_DOT), {"dot.1": ()}),
        (ROOM, ("", ""), {"wrapped": ("1", "3"), "unknown": 1}),
        (
            ROOM,
            ("fusion(%nil), kind=kLoop, calls=%fill", "broadcast(%nil), dimensions={}"),
            {"wrapped": ("1", "3"), "unknown": 1},
        ),
        # Something else reads the zeros; or a loop starts from them that nobody knows; or they are no constant.
        (ROOM, ("add(%result, %result.1)", "add(%result, %wrapped)"), {"wrapped": ()}),
        (ROOM, (', metadata={op_name="jit(f)/e3/scan"}', ""), {"wrapped": ()}),
        (ROOM, ("%nil = f32[] constant(0)", "%nil = f32[] custom-call()"), {"wrapped": ()}),
        # What takes the value has no name: it may be the product, and the bitcast its operand's.
        (PRODUCT, ('negate(%flat), metadata={op_name="jit(f)/e2/neg"}', "negate(%flat)"), {"dot.1": ()}),
    ],
)
def test_content_proves_an_equation_or_nothing_is_known(text: str, change: tuple[str, str], found: object) -> None:
    assert change[0] in text
    kernels = {each.name: each for each in read_kernels(text.replace(*change))}
    assert isinstance(found, dict)
    unknown = found.pop("unknown", 0 if all(found.values()) else None)
    assert {name: kernels[name].equations for name in found} == found
    if unknown is not None:
        assert sum(each.unknown for each in kernels.values()) == unknown
