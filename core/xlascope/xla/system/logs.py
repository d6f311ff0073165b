"""The log of the setting ``log_compiles``: JAX's lines, as warnings of the logger ``xlascope.compile``."""

from __future__ import annotations

import logging
from typing import Any

from ...runtime.boot import log_compiles

_log = logging.getLogger("xlascope.compile")


def log_compilation(message: str, *values: Any) -> None:
    """Log a step of a compilation if the setting ``log_compiles`` is on.

    ``values`` replace the placeholders of ``message``.
    """
    if log_compiles.value:
        _log.warning(message, *values)
