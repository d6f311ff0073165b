"""Functions with rules of their own, checkpointed ones and solvers under every transformation: what jax gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import xlascope as xs
from xlascope.xla.lowering.module_lowering import lower

TABLES = ["jvp", "vjp", "remat"]


def file_of(table: str) -> Path:
    return Path(__file__).with_name(f"{table}_programs.py")


def interpret(whole: Any) -> list[Any]:
    """The results of a function without arguments, its lowered program run by StableHLO's reference interpreter."""
    program = xs.make_jaxpr(whole)()
    lowered = lower(program, "whole")
    with lowered.module.context, ir.Location.unknown():
        kept = [np.asarray(c) for c, keep in zip(program.consts, lowered.kept_operands, strict=True) if keep]
        return list(stablehlo.eval_module(lowered.module, [_attribute(c) for c in kept]))


def _attribute(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype == np.bool_:
        return ir.DenseElementsAttr.get(array.astype(np.uint8), type=ir.IntegerType.get_signless(1), shape=array.shape)
    return ir.DenseElementsAttr.get(np.ascontiguousarray(array), shape=array.shape)


@pytest.mark.parametrize("table", TABLES)
def test_every_transformation_gives_what_jax_gives(table: str, programs: Any, jax_says: Any) -> None:
    file = programs(file_of(table))
    found = file.rows.everything(xs, [file.rule], interpret)
    wanted = jax_says(file_of(table), "everything_by_jax")
    assert found.keys() == wanted.keys()
    assert len(found) > 300
    wrong = []
    for key, expected in wanted.items():
        y = found[key]
        if (y.shape, y.dtype) != (expected.shape, expected.dtype):
            wrong.append(f"{key}: {y.dtype}{y.shape} instead of {expected.dtype}{expected.shape}")
        elif not np.allclose(y, expected, rtol=2e-4, atol=2e-4):
            wrong.append(f"{key}: {y.ravel()[:4]} instead of {expected.ravel()[:4]}")
    assert not wrong, "\n".join(wrong[:20])


#: Rows that are compiled by XLA as well, each transformation alone.
CHOSEN = {"one", "two arguments", "an integer result", "symbolic zeros", "in scan", "a scalar", "nested"}


@pytest.mark.parametrize("table", TABLES)
def test_without_jit_the_same(table: str, programs: Any) -> None:
    """Value, one batch and a derivative, each alone, against the same under jit."""
    file = programs(file_of(table))
    chosen = [name for name in file.rule if name.split(": ")[-1] in CHOSEN]
    assert len(chosen) >= 3
    for name in chosen:
        maker, operands = file.rule[name]
        f = maker(xs)
        for label, run in file.rows.transformed(xs, file.rule, name, f, operands):
            if label in ("value", "jvp", "grad", "vmap of grad (0,)"):
                for ours, jitted in zip(leaves(file, run()), leaves(file, xs.jit(run)()), strict=True):
                    np.testing.assert_allclose(ours, jitted, rtol=1e-4, atol=1e-5, err_msg=f"{name}, {label}")


def leaves(file: Any, value: Any) -> list[Any]:
    return file.rows.shared.moving_leaves(xs, value)  # type: ignore[no-any-return]
