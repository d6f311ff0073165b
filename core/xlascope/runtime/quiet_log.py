"""How much XLA's C++ says on the standard error: warnings and worse, unless the user has asked for more or less."""

from __future__ import annotations

import os

from jaxlib import utils


def quiet_log() -> None:
    """Set the level that ``TF_CPP_MIN_LOG_LEVEL`` says: jaxlib reads it too early to be told later."""
    said = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
    utils.absl_set_min_log_level(int(said) if said.isdigit() else 1)
