"""Log level of XLA's C++ on standard error: warnings and worse by default."""

from __future__ import annotations

import os

from jaxlib import utils


def quiet_log() -> None:
    """Set the level in ``TF_CPP_MIN_LOG_LEVEL``, which jaxlib reads too early to change later."""
    level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    utils.absl_set_min_log_level(int(level) if level.isdigit() else 1)
