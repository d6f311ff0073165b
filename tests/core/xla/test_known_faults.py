"""The known faults of XLA: each is there without its workaround, and no program without the pattern pays."""

import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib import version
from jaxlib.mlir import ir

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.settings import setting
from xlascope.xla import known_faults
from xlascope.xla.compilation import compile_program as compiling
from xlascope.xla.compilation.compile_request import CompileRequest
from xlascope.xla.devices.backend import default_device
from xlascope.xla.known_faults import fault_table, program_operations, workarounds

from . import faulty_programs

PAGE = Path(xs.__file__).parent / "xla/known_faults/README.md"
ROWS = {"NAN": fault_table.NAN, "THIN_PRODUCT": fault_table.THIN_PRODUCT, "MANY_AXES": fault_table.MANY_AXES}
ROWS |= {"SCALED_BFLOAT16": fault_table.SCALED_BFLOAT16, "EXTREME": fault_table.EXTREME}
AVOIDED = (fault_table.THIN_PRODUCT, fault_table.MANY_AXES, fault_table.SCALED_BFLOAT16)
NAMES = frozenset().union(*(row.names for row in AVOIDED))


def test_each_row_has_a_program():
    assert set(ROWS.values()) == set(fault_table.FAULTS) and set(ROWS) == set(faulty_programs.PROGRAMS)


def test_the_page_has_the_table():
    assert "\n".join(fault_table.table_lines()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ROWS)
def test_a_fault_is_there_without_its_workaround(name):
    """Fails when a jaxlib has repaired it: then say so in the row (`fixed`), and remove the row when all have."""
    if not ROWS[name].is_in(version.__version__):
        pytest.skip(f"this jaxlib does not have the fault: {ROWS[name].name}")
    assert _run(name, "off") != "right"


@pytest.mark.parametrize("name", ROWS)
def test_a_program_with_the_pattern_is_right(name):
    assert _run(name, "on") == "right"


def _run(name, how):
    done = subprocess.run([sys.executable, faulty_programs.__file__, name, how], capture_output=True, text=True)
    return done.stdout.strip() or done.returncode


def _squares(rows, matrix):
    return xs.vmap(lambda row: jnp.sum((matrix @ row) ** 2))(rows)


def _product(x, y):
    return jnp.sum(x * y, axis=3)


def _shapes(*shapes, dtype="float32"):
    return [xs.ShapeDtypeStruct(shape, dtype) for shape in shapes]


PROGRAMS = {
    "squares of rows": (_squares, _shapes((40_000, 3), (3, 3)), ["THIN_PRODUCT"]),
    "squares of columns": (
        lambda x, m: jnp.sum((m @ x) ** 2, 0),
        _shapes((3, 40_000), (3, 3)),
        ["THIN_PRODUCT"],
    ),
    "in another function": (
        lambda x, m: xs.jit(lambda y: jnp.max(abs(y), 1))(x @ m),
        _shapes((40_000, 3), (3, 3), dtype="bfloat16"),
        ["THIN_PRODUCT"],
    ),
    "in a loop": (
        lambda x, m: xs.lax.fori_loop(0, 3, lambda _, x: x / _squares(x, m)[:, None], x),
        _shapes((40_000, 3), (3, 3)),
        ["THIN_PRODUCT"],
    ),
    "few rows": (_squares, _shapes((4000, 3), (3, 3)), []),
    "wide rows": (_squares, _shapes((40_000, 64), (64, 64)), []),
    "no reduction": (lambda x, m: jnp.tanh(x @ m), _shapes((40_000, 3), (3, 3)), []),
    "reduced to few": (lambda x, m: jnp.sum(x @ m), _shapes((40_000, 3), (3, 3)), []),
    "seven axes": (_product, _shapes(*[(3, 1, 2, 2, 8, 8, 8)] * 2), ["MANY_AXES"]),
    "six axes": (_product, _shapes(*[(3, 2, 2, 8, 8, 8)] * 2), []),
    "seven axes of integers": (_product, _shapes(*[(3, 1, 2, 2, 8, 8, 8)] * 2, dtype="int32"), []),
    "scaled bfloat16": (
        lambda x: jnp.sum(jnp.exp(x * 0.3), 1),
        _shapes((10_001, 3), dtype="bfloat16"),
        ["SCALED_BFLOAT16"],
    ),
    "divided bfloat16 in a function": (
        lambda x: jnp.sum(xs.nn.sigmoid(x / 3), 1),
        _shapes((10_001, 3), dtype="bfloat16"),
        ["SCALED_BFLOAT16"],
    ),
    "bfloat16 converted and scaled": (
        lambda x: jnp.sum(jnp.exp(x.astype("float32").T * 0.3 + 0), 0),
        _shapes((10_001, 3), dtype="bfloat16"),
        ["SCALED_BFLOAT16"],
    ),
    "bfloat16 scaled in a function": (
        lambda x: jnp.sum(jnp.log1p(xs.jit(lambda y: 3 * y)(x))),
        _shapes((999,), dtype="bfloat16"),
        ["SCALED_BFLOAT16"],
    ),
    "softmax of scaled bfloat16": (
        lambda x: xs.nn.softmax(x * 0.125, -1),
        _shapes((64, 64), dtype="bfloat16"),
        [],
    ),
    "powers of two": (lambda x: jnp.max(jnp.exp2(x)), _shapes((999,), dtype="bfloat16"), []),
    "bfloat16 times bfloat16": (lambda x: jnp.sum(jnp.exp(x * x)), _shapes((999,), dtype="bfloat16"), []),
    "scaled float32": (lambda x: jnp.sum(jnp.exp(x * 0.3), 1), _shapes((10_001, 3)), []),
    "an einsum": (
        lambda x, y: jnp.einsum("abcdefg,abcdefg->abcdef", x, y),
        _shapes(*[(3, 1, 2, 2, 8, 8, 8)] * 2),
        ["MANY_AXES"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jaxpr_and_its_stablehlo_match_alike(name):
    function, arguments, expected = PROGRAMS[name]
    traced = xs.jit(function).trace(*arguments)
    found = known_faults.match_faults(AVOIDED, program_operations.operations_of_jaxpr(traced.jaxpr.jaxpr, NAMES))
    module = traced.lower().compiler_ir()
    assert found == known_faults.match_faults(AVOIDED, program_operations.operations_of_module(module, NAMES))
    assert [each for each in ROWS if ROWS[each] in found] == expected


def test_a_nan_is_found_in_both():
    traced = xs.jit(lambda x: jnp.where(x > 0, x, jnp.nan)).trace(xs.ShapeDtypeStruct((3,), "float32"))
    assert fault_table.has_nan(program_operations.operations_of_jaxpr(traced.jaxpr.jaxpr, {"constant"}))
    assert fault_table.has_nan(program_operations.operations_of_module(traced.lower().compiler_ir(), {"constant"}))
    text = "module { func.func @main() -> tensor<2xf32> { %0 = stablehlo.constant dense<[1.0, 0x7FC00000]> : "
    text += "tensor<2xf32> return %0 : tensor<2xf32> } }"
    with traced.lower().compiler_ir().context:
        assert fault_table.has_nan(program_operations.operations_of_module(ir.Module.parse(text), {"constant"}))
        assert not fault_table.has_nan(
            program_operations.operations_of_module(ir.Module.parse(text.replace("0x7FC00000", "2.0")), {"constant"})
        )


def test_an_extreme_is_found_in_both():
    def found(function, shape=(100, 100)):
        traced = xs.jit(function).trace(xs.ShapeDtypeStruct(shape, "float32"))
        names = fault_table.EXTREME.names
        jaxpr = program_operations.operations_of_jaxpr(traced.jaxpr.jaxpr, names)
        module = program_operations.operations_of_module(traced.lower().compiler_ir(), names)
        return fault_table.has_large_extreme(jaxpr), fault_table.has_large_extreme(module)

    assert found(lambda x: jnp.max(x, 1)) == (True, True)
    assert found(lambda x: xs.lax.fori_loop(0, 3, lambda _, y: y - jnp.min(y), x)) == (True, True)
    assert found(lambda x: jnp.max(x, 1), (40, 40)) == found(jnp.sum) == (False, False)
    assert found(xs.nn.softmax) == (False, True)  # StableHLO does not say that the result is NaN anyway


def test_versions():
    rows = {version: [name for name, row in ROWS.items() if row.is_in(version)] for version in VERSIONS}
    assert rows == VERSIONS


#: What was found by running the programs with each.
VERSIONS = {
    "0.10.2": ["NAN", "THIN_PRODUCT", "MANY_AXES", "SCALED_BFLOAT16", "EXTREME"],
    "0.11.0": ["NAN", "MANY_AXES", "EXTREME"],
    "0.11.1": ["NAN", "EXTREME"],
    "0.11.2": ["NAN", "EXTREME"],
    "0.12.0.1": ["NAN", "EXTREME"],
}


affected = pytest.mark.skipif(
    not fault_table.MANY_AXES.is_in(version.__version__), reason="this jaxlib has no such fault"
)


@affected
def test_what_a_user_says_has_the_last_word(monkeypatch):
    jaxpr = xs.make_jaxpr(_product)(*_shapes(*[(3, 1, 2, 2, 8, 8, 8)] * 2)).jaxpr
    assert [name for name, _ in known_faults.workaround_options(jaxpr, "cpu")] == [fault_table.YNNPACK_OPTION]
    assert known_faults.workaround_options(jaxpr, "gpu") == ()
    assert known_faults.workaround_options(jaxpr, "cpu", ((fault_table.YNNPACK_OPTION, "X"),)) == ()
    monkeypatch.setenv("XLA_FLAGS", f"--{fault_table.YNNPACK_OPTION}=individual_dot")
    assert known_faults.workaround_options(jaxpr, "cpu") == ()


@affected
def test_the_workaround_is_in_the_key_on_disk(tmp_path, monkeypatch):
    program, device = xs.make_jaxpr(_product)(*_shapes(*[(3, 1, 2, 2, 8, 8, 8)] * 2)), default_device()
    with setting("compilation_cache_dir", tmp_path / "cache"):
        lowered = compiling.lower_program(CompileRequest(program), "cpu")
        compiling.compile_lowered(lowered, device)
        assert compiling.is_executable_cached(lowered, device)
        monkeypatch.setattr(workarounds, "_avoidable", ())
        assert not compiling.is_executable_cached(lowered, device)
