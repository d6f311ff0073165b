"""Hooks that the layers above set in this one when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr


class Hooks:
    """Functions of the layers above. Optional ones are None until their layer is imported."""

    #: Returns the type of an operand; raises TypeError for a value that cannot be one (``trace/bind.py``).
    operand_aval: Callable[[Any], ShapedArray]
    #: Returns the array that an array-like operand stands for (``trace/bind.py``).
    opened: Callable[[Any], Any]
    #: Checks results when the settings ask for it: jaxpr, constants, operands, results (``control``).
    check_results: Callable[[Jaxpr, Sequence[Any], Sequence[Any], Sequence[Any]], None]
    #: Returns the program of an operation on keys for their words (``transforms/batch.py``).
    on_words: Callable[[Any, Sequence[ShapedArray]], ClosedJaxpr]
    #: Returns the program with loops in place of repeats, by ``"auto"`` or ``"always"`` (``api/compilation.py``).
    rerolled: Callable[[ClosedJaxpr, Any], ClosedJaxpr] | None = None


HOOKS = Hooks()
