"""Products that XLA folded into a kernel that has the name of another equation.

The transpose of a matrix product is computed as a product with swapped operands, which XLA names after the
transpose. HLO alone does not show this. The jaxpr does: the product is in no kernel, and its transpose is in
a kernel that multiplies, which is a library call or a fusion around a product (a GPU's custom, a TPU's output
fusion).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.compiled import Kernel
from ..records.events import Compiled, Traced
from ..records.paths import EquationPath
from ..records.programs import Equation, Jaxpr
from ..records.traits import Trait

_PRODUCT_KINDS = frozenset({"library call", "custom", "output"})


def add_folded_products(compiled: Compiled, traced: Traced | None) -> Compiled:
    """Return the record with folded products added to the equations of the kernels that compute them.

    Without a trace (``traced`` None) or products it is returned unchanged.
    """
    if traced is None or not any(kernel.kind in _PRODUCT_KINDS for kernel in compiled.kernels):
        return compiled
    attributed = {path for kernel in compiled.kernels for path in kernel.equations}
    products = dict(_iter_transposed_products(traced, traced.jaxpr, attributed))
    if not products:
        return compiled
    return dataclasses.replace(
        compiled, kernels=tuple(_add_to_kernel(original, products) for original in compiled.kernels)
    )


def _add_to_kernel(kernel: Kernel, products: dict[EquationPath, EquationPath]) -> Kernel:
    if kernel.kind not in _PRODUCT_KINDS:
        return kernel
    missing = [products[path] for path in kernel.equations if path in products]
    return dataclasses.replace(kernel, equations=(*missing, *kernel.equations)) if missing else kernel


def _iter_transposed_products(
    traced: Traced, jaxpr: Jaxpr, attributed: set[EquationPath]
) -> Iterator[tuple[EquationPath, EquationPath]]:
    """Yield (path of a transpose, path of the product it transposes) where the product is in no kernel.

    ``attributed`` are the paths of all equations in kernels.
    """
    producers: dict[str, Equation] = {}
    for eqn in jaxpr.equations:
        producers.update(dict.fromkeys(eqn.outputs, eqn))
        for body in eqn.bodies:
            yield from _iter_transposed_products(traced, body, attributed)
        product = producers.get(eqn.inputs[0]) if traced.has(eqn, Trait.PERMUTES) and eqn.inputs else None
        if product is not None and traced.has(product, Trait.PRODUCT) and product.path not in attributed:
            yield eqn.path, product.path
