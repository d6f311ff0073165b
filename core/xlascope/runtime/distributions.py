"""Versions of installed distributions.

``importlib.metadata`` imports forty modules, a twentieth of the time to the first result, so it is imported where a
version is asked for.
"""

from __future__ import annotations

import importlib
from pathlib import Path


def distribution_version(distribution: str, folder: Path | None = None) -> str:
    """Return the version of a distribution, installed in ``folder`` or on Python's path; "" if it is not there."""
    metadata = importlib.import_module("importlib.metadata")
    path = {} if folder is None else {"path": [str(folder)]}
    return next((candidate.version for candidate in metadata.distributions(name=distribution, **path)), "")
