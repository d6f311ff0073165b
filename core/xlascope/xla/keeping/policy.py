"""What a program is told to keep: by its function, or by the settings.

Apart from the package's other names, as programs of jax are marked where our engine was not started.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ...ir.avals import ShapedArray
from ...ir.operation import Operation
from ...runtime.boot import keep

#: What is kept: what the model says, nothing, or each result of an operation (on operands of some types) of which a
#: function says so.
Keep = Literal["auto", "off"] | Callable[[Operation, Sequence[ShapedArray]], bool]


def asked_for(given: Keep | None) -> Keep:
    """What is kept where a function says ``given``: what the settings say, when that is None."""
    return keep.value if given is None else given
