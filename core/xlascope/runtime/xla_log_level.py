"""Log level of XLA's C++ on standard error: warnings and worse by default."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from jaxlib import utils


def set_xla_log_level() -> None:
    """Set XLA's log level to ``TF_CPP_MIN_LOG_LEVEL``, or else to warnings.

    jaxlib reads the variable once, too early for a program to change it later.
    """
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    utils.absl_set_min_log_level(int(level) if level.isdigit() else 1)


@contextmanager
def xla_log_level(level: int) -> Iterator[None]:
    """Set XLA's log level for the length of a ``with`` block, unless ``TF_CPP_MIN_LOG_LEVEL`` says another one."""
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        utils.absl_set_min_log_level(level)
    try:
        yield
    finally:
        set_xla_log_level()
