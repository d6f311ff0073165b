"""Functions that depend on the platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import tree
from ..trace.operand_coercion import pass_through
from ..trace.source import here
from ..xla.devices.backend import default_device

_PLATFORM_ALIASES = {"cuda": "gpu", "rocm": "gpu"}


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Call the function for the default platform (``cpu=``, ``gpu=``, ``cuda=``, ``tpu=``), else ``default``.

    The choice is made while tracing: a program has the code of one platform, also where it is only compiled for
    another. Raises NotImplementedError where there is no code for the platform.

    >>> from xlascope import lax
    >>> print(lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x))
    3.0
    """
    for name, function in {"default": default, **per_platform}.items():
        if not callable(function) and (function is not None or name != "default"):
            raise TypeError(f"platform_dependent takes a function as {name}, got {function!r}{here()}")
    platform = default_device().platform
    selected = per_platform.get(platform, per_platform.get(_PLATFORM_ALIASES.get(platform, platform), default))
    if selected is None:
        raise NotImplementedError(
            f"platform_dependent has code for {', '.join(per_platform) or 'nothing'}, and runs on {platform}{here()}: "
            "give it default="
        )
    return selected(*tree.map(pass_through, args))  # the function may return its operands: they must be new objects
