"""Equations that XLA folded into another's kernel under the other's name alone.

The transpose of a product of matrices is computed as a product with swapped operands, which XLA calls by the name of
the transpose. HLO alone cannot tell; with the jaxpr beside it the product is found: it ended up nowhere, and its
transpose in a kernel that multiplies: a library call, or a fusion around a product (a GPU's custom, a TPU's output).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.compiled import Kernel
from ..records.events import Compiled, Traced
from ..records.paths import EquationPath
from ..records.programs import Equation, Jaxpr
from ..records.traits import Trait

_MULTIPLY = frozenset({"library call", "custom", "output"})


def with_folded(compiled: Compiled, traced: Traced | None) -> Compiled:
    """The record, with such products added to the equations of the kernels that compute them."""
    if traced is None or not any(kernel.kind in _MULTIPLY for kernel in compiled.kernels):
        return compiled
    placed = {path for kernel in compiled.kernels for path in kernel.equations}
    products = dict(_turned_products(traced, traced.jaxpr, placed))
    if not products:
        return compiled
    return dataclasses.replace(compiled, kernels=tuple(_completed(each, products) for each in compiled.kernels))


def _completed(kernel: Kernel, products: dict[EquationPath, EquationPath]) -> Kernel:
    if kernel.kind not in _MULTIPLY:
        return kernel
    missing = [products[path] for path in kernel.equations if path in products]
    return dataclasses.replace(kernel, equations=(*missing, *kernel.equations)) if missing else kernel


def _turned_products(
    traced: Traced, jaxpr: Jaxpr, placed: set[EquationPath]
) -> Iterator[tuple[EquationPath, EquationPath]]:
    """The paths of transposes, each with that of the product it transposes, where the product is in no kernel."""
    made: dict[str, Equation] = {}
    for each in jaxpr.equations:
        made.update(dict.fromkeys(each.outputs, each))
        for body in each.bodies:
            yield from _turned_products(traced, body, placed)
        product = made.get(each.inputs[0]) if traced.has(each, Trait.PERMUTES) and each.inputs else None
        if product is not None and traced.has(product, Trait.PRODUCT) and product.path not in placed:
            yield each.path, product.path
