"""How often a process traced, lowered and compiled, whether somebody watches or not."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from xlascope.control.jit.jitted import Jitted
from xlascope.trace import jaxpr_trace
from xlascope.xla.compilation import compile_program as compiling
from xlascope.xla.lowering import module_lowering

#: How often each has been done since the process began.
counts: Counter[str] = Counter()


def count_everything() -> None:
    """Count from now on. Whoever imported one of the functions by its name gets the one that counts."""
    _replace("staged", jaxpr_trace.stage)
    _replace("lowered", module_lowering.lower)
    _replace("compiled", compiling.compile_lowered)
    Jitted._trace = _wrap("traced", Jitted._trace)  # type: ignore[method-assign]


def _replace(what: str, function: Callable[..., Any]) -> None:
    counted, replaced = _wrap(what, function), 0
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "xlascope":
            for attribute, value in list(vars(module).items()):
                if value is function:
                    setattr(module, attribute, counted)
                    replaced += 1
    assert replaced > 1, f"nobody imports {function.__qualname__}"


def _wrap(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def counting(*args: Any, **kwargs: Any) -> Any:
        counts[what] += 1
        return function(*args, **kwargs)

    return counting
