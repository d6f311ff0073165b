"""Calls of libraries that factorize matrices: column-major ones of LAPACK and CUDA, and XLA's own for TPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from .builder import attribute

#: Platform names of NVIDIA's GPUs: that of the client and that of its devices.
GPU_PLATFORMS = ("cuda", "gpu")


def call_column_major(
    builder: Any,
    name: str,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    lead: int,
    options: Mapping[str, str] | None = None,
    in_place: Mapping[int, int] | None = None,
    transposed: bool = False,
) -> list[Any]:
    """Emit a custom call of a library routine on stacks of column-major matrices and return its results.

    ``name`` is the custom-call target; ``operand_avals`` and ``results`` are the types of operands and results. Arrays
    with two axes more than ``lead`` are stacks of matrices, other arrays are row-major. ``options`` are the routine's
    own (``{"uplo": "76 : ui8"}``); ``in_place`` maps results (by number) to the operands that they overwrite. With
    ``transposed`` matrices are row-major: the routine sees their transposes.
    """
    options = {} if options is None else options
    attributes = {
        "call_target_name": attribute(f'"{name}"'),
        "api_version": attribute("4 : i32"),
        "backend_config": attribute("{" + ", ".join(f"{name} = {value}" for name, value in options.items()) + "}"),
        "operand_layouts": _layouts(operand_avals, lead, transposed),
        "result_layouts": _layouts(results, lead, transposed),
    }
    if in_place:
        aliases = [
            "#stablehlo.output_operand_alias<output_tuple_indices = "
            f"[{result if len(results) > 1 else ''}], operand_index = {operand}, operand_tuple_indices = []>"
            for result, operand in in_place.items()
        ]
        attributes["output_operand_aliases"] = attribute(f"[{', '.join(aliases)}]")
    return list(builder.operation("stablehlo.custom_call", operands, attributes, results).results)


def _layouts(avals: Sequence[ShapedArray], lead: int, transposed: bool) -> Any:
    """Return the attribute with the layouts of arrays of these types.

    Those with two axes more than ``lead`` are matrices and column-major, unless ``transposed``; the others are
    row-major.
    """
    texts = []
    for aval in avals:
        order = list(reversed(range(aval.ndim)))
        if aval.ndim == lead + 2 and not transposed:
            order[:2] = [aval.ndim - 2, aval.ndim - 1]
        texts.append(f"dense<{order}> : tensor<{aval.ndim}xindex>")
    return attribute(f"[{', '.join(texts)}]")


def call_xla_factorization(
    builder: Any,
    name: str,
    operands: Sequence[Any],
    results: Sequence[ShapedArray],
    config: str = "",
    version: int = 1,
) -> list[Any]:
    """Emit a call of a factorization that XLA itself has for TPUs (``Qr``, ``Eigh``, ``LuDecomposition``).

    ``results`` are the types of its results, which it returns. ``config`` is the text of the custom call's
    ``backend_config`` and ``version`` its API version.
    """
    attributes = {
        "call_target_name": attribute(f'"{name}"'),
        "api_version": attribute(f"{version} : i32"),
        "backend_config": attribute(f'"{config}"'),
    }
    return list(builder.operation("stablehlo.custom_call", operands, attributes, results).results)
