"""NumPy as a library like the two that are compared: a worker performs calls of it, and rules ask what it says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

numpy = np
Array = np.ndarray


def enable_x64(on: bool) -> contextlib.AbstractContextManager[None]:
    """NumPy has no other mode than the wide one."""
    return contextlib.nullcontext()


def jit(program: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy compiles nothing."""
    return program
