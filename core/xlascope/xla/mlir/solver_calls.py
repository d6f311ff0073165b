"""Calls of libraries that factorize matrices: LAPACK's and CUDA's lie in memory alike, a TPU's are XLA's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from .builder import attribute

#: NVIDIA's GPUs, by the names of their client and of their devices.
GPUS = ("cuda", "gpu")


def by_columns(
    builder: Any,
    name: str,
    operands: Sequence[Any],
    given: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
    lead: int,
    options: Mapping[str, str] | None = None,
    in_place: Mapping[int, int] | None = None,
    transposed: bool = False,
) -> list[Any]:
    """Call a routine on stacks of operands that have ``lead`` leading axes, matrices lying column by column.

    ``options`` are the routine's own (``{"uplo": "76 : ui8"}``), ``in_place`` says which results (by number) are
    written over which operands. With ``transposed`` matrices lie row by row: the routine sees their transposes.
    """
    options = {} if options is None else options
    attributes = {
        "call_target_name": attribute(f'"{name}"'),
        "api_version": attribute("4 : i32"),
        "backend_config": attribute("{" + ", ".join(f"{name} = {value}" for name, value in options.items()) + "}"),
        "operand_layouts": _layouts(given, lead, transposed),
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
    """Which axis varies fastest in memory: of matrices the row, of all else the last axis."""
    texts = []
    for aval in avals:
        order = list(reversed(range(aval.ndim)))
        if aval.ndim == lead + 2 and not transposed:
            order[:2] = [aval.ndim - 2, aval.ndim - 1]
        texts.append(f"dense<{order}> : tensor<{aval.ndim}xindex>")
    return attribute(f"[{', '.join(texts)}]")


def of_xla(
    builder: Any,
    name: str,
    operands: Sequence[Any],
    results: Sequence[ShapedArray],
    config: str = "",
    version: int = 1,
) -> list[Any]:
    """Call one of the factorizations that XLA itself has for a TPU (``Qr``, ``Eigh``, ``LuDecomposition``)."""
    attributes = {
        "call_target_name": attribute(f'"{name}"'),
        "api_version": attribute(f"{version} : i32"),
        "backend_config": attribute(f'"{config}"'),
    }
    return list(builder.operation("stablehlo.custom_call", operands, attributes, results).results)
