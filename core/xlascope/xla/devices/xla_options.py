"""XLA's options for one compilation, as its client takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib import xla_client


def compile_options(device: Any, overrides: Sequence[tuple[str, str]] = ()) -> Any:
    """Return XLA's compile options for a program on one device.

    ``overrides`` are XLA flags (name, value) for this program alone.
    """
    options = xla_client.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = 1
    options.env_option_overrides = list(overrides)
    build = options.executable_build_options
    build.num_replicas = 1
    build.num_partitions = 1
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id]], np.int32))
    options.device_assignment = assignment
    build.device_assignment = assignment
    return options
