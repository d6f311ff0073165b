"""Calls of libraries that factorize matrices: column-major ones of LAPACK and CUDA, and XLA's own for TPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from .builder import attribute

#: Platform names of NVIDIA's GPUs: that of the client and that of its devices.
GPUS = ("cuda", "gpu")


def by_columns(
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
    """Call a routine on stacks of column-major matrices that have ``lead`` leading axes.

    ``options`` are the routine's own (``{"uplo": "76 : ui8"}``), ``in_place`` maps results (by number) to the
    operands that they overwrite. With ``transposed`` matrices are row-major: the routine sees their transposes.
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
    """Return the layouts of operands: column-major for matrices, row-major for others."""
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
