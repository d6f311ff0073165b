"""Log level of XLA's C++ on standard error: warnings and worse by default."""

from __future__ import annotations

import os

from jaxlib import utils


def set_xla_log_level() -> None:
    """Set XLA's log level to ``TF_CPP_MIN_LOG_LEVEL``, or else to warnings.

    jaxlib reads the variable once, too early for a program to change it later.
    """
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    utils.absl_set_min_log_level(int(level) if level.isdigit() else 1)
