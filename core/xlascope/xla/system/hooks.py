"""What the layers above hand down to this one: one object, whose attributes they set when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr, Jaxpr


class Hooks:
    """Functions of the layers above. Those that a program can do without are None until their layer is imported."""

    #: The type of an operand; raises TypeError for what is none (``trace/bind.py``).
    operand_aval: Callable[[Any], ShapedArray]
    #: What an operand stands for (``trace/bind.py``).
    opened: Callable[[Any], Any]
    #: Looks at results when the settings ask for it: jaxpr, constants, operands, results (``control``).
    check_results: Callable[[Jaxpr, Sequence[Any], Sequence[Any], Sequence[Any]], None]
    #: The program of an operation on keys for their words (``transforms/batch.py``).
    on_words: Callable[[Any, Sequence[ShapedArray]], ClosedJaxpr]
    #: The program with loops in place of repeats, by ``"auto"`` or ``"always"`` (``api/compilation.py``).
    rerolled: Callable[[ClosedJaxpr, Any], ClosedJaxpr] | None = None


HOOKS = Hooks()
