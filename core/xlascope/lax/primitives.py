"""The handle of each operation, as ``eqn.primitive`` gives it: ``sin_p`` and its siblings, by the operation's name.

``primitives.pyi`` lists them for tools, with the functions that stand under the operations' classes.
"""

from __future__ import annotations

from ..control.checkpoint import remat
from ..control.flow import cond, scan, while_loop
from ..control.programs import call
from ..control.rules import custom_jvp_call, custom_vjp_call, custom_vmap_call, linear_call, linear_solve
from ..ir.operation import Primitive, registered
from ..operations import (
    arithmetic,
    barriers,
    bits,
    callbacks,
    collectives,
    comparisons,
    complex_numbers,
    constants,
    conversion,
    cumulative,
    dynamic_slicing,
    exchanges,
    exponentials,
    extremes,
    indexing,
    linear_algebra,
    random_bits,
    reductions,
    rounding,
    scattering,
    selection,
    shapes,
    slicing,
    sorting,
    special,
    sums,
    trigonometry,
)

#: The files that define operations: importing them is what makes their operations known.
DEFINED_IN = (
    *(arithmetic, barriers, bits, callbacks, collectives, comparisons, complex_numbers, constants, conversion),
    *(cumulative, dynamic_slicing, exchanges, exponentials, extremes, indexing, linear_algebra, random_bits),
    *(reductions, rounding, scattering, selection, shapes, slicing, sorting, special, sums),
    *(trigonometry,),
    *(
        call,
        cond,
        scan,
        while_loop,
        custom_jvp_call,
        custom_vjp_call,
        custom_vmap_call,
        linear_call,
        linear_solve,
        remat,
    ),
)


def __getattr__(name: str) -> Primitive:
    if name.endswith("_p"):
        for operation in registered():
            if operation.name == name[:-2]:
                return operation.primitive
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
