"""Programs with control flow under every transformation: what jax gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import xlascope as xs
from xlascope.xla.lowering.module_lowering import lower

HERE = Path(__file__).with_name("programs.py")


def interpret(whole: Any) -> list[Any]:
    """The results of a function without arguments, its lowered program run by StableHLO's reference interpreter."""
    program = xs.make_jaxpr(whole)()
    lowered = lower(program, "whole")
    with lowered.module.context, ir.Location.unknown():
        arrays = [np.asarray(c, v.aval.dtype) for v, c in zip(program.jaxpr.constvars, program.consts, strict=True)]
        constants = [_attribute(x) for x, keep in zip(arrays, lowered.kept_operands, strict=True) if keep]
        return list(stablehlo.eval_module(lowered.module, constants))


def _attribute(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype == np.bool_:
        return ir.DenseElementsAttr.get(array.astype(np.uint8), type=ir.IntegerType.get_signless(1), shape=array.shape)
    return ir.DenseElementsAttr.get(np.ascontiguousarray(array), shape=array.shape)


@pytest.fixture(scope="module")
def table(programs: Any) -> Any:
    return programs(HERE)


def compare(found: dict[Any, Any], wanted: dict[Any, Any], tolerance: float) -> None:
    assert found.keys() == wanted.keys()
    assert len(found) > 100
    wrong = []
    for key, expected in wanted.items():
        y = found[key]
        if (y.shape, y.dtype) != (expected.shape, expected.dtype):
            wrong.append(f"{key}: {y.dtype}{y.shape} instead of {expected.dtype}{expected.shape}")
        elif not np.allclose(y, expected, rtol=tolerance, atol=tolerance):
            wrong.append(f"{key}: {y.ravel()[:4]} instead of {expected.ravel()[:4]}")
    assert not wrong, "\n".join(wrong[:20])


def test_transformations_give_what_jax_gives(table: Any, jax_says: Any) -> None:
    compare(table.everything(xs, interpret, quick=True), jax_says(HERE, "quick_by_jax"), 2e-4)


@pytest.mark.slow
def test_every_transformation_gives_what_jax_gives(table: Any, jax_says: Any) -> None:
    compare(table.everything(xs, interpret), jax_says(HERE, "everything_by_jax"), 2e-4)
