"""Hooks that the layers above set in this one when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr


class LayerHooks:
    """Functions that the layers above set here for this layer. Optional ones are None until their layer is imported.

    ``operand_aval`` returns the type of an operand, ``unwrap_operand`` the array for an array-like one,
    ``lower_on_physical`` the program of an operation on keys for their key words; ``check_results`` checks results if
    the settings ask for it, ``eliminate_dead_code`` drops what no result needs, ``reroll`` puts loops in place of
    repeated regions, and ``reshard`` gives an array of several processes another sharding.
    """

    #: Returns the type of an operand; raises TypeError for a value that cannot be one (``trace/bind.py``).
    operand_aval: Callable[[Any], ShapedArray]
    #: Returns the array that an array-like operand stands for (``trace/bind.py``).
    unwrap_operand: Callable[[Any], Any]
    #: Checks results when the settings ask for it: jaxpr, constants, operands, results (``control``).
    check_results: Callable[[Jaxpr, Sequence[Any], Sequence[Any], Sequence[Any]], None]
    #: Returns the program of an operation on keys for their words (``transforms/batch.py``).
    lower_on_physical: Callable[[Any, Sequence[ShapedArray]], ClosedJaxpr]
    #: Returns the program without the equations that no result needs (``transforms/dce.py``).
    eliminate_dead_code: Callable[[ClosedJaxpr], ClosedJaxpr]
    #: Returns the program with loops in place of repeats, by ``"auto"`` or ``"always"`` (``api/compilation.py``).
    reroll: Callable[[ClosedJaxpr, Any], ClosedJaxpr] | None = None
    #: Returns an array of several processes with another sharding (``control/parallel/sharding_constraints.py``).
    reshard: Callable[[Any, Any], Any] | None = None


HOOKS = LayerHooks()
