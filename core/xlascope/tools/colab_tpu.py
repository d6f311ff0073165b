"""``colab_tpu.setup_tpu()``, the first call of notebooks for Colab's TPUs.

It was written for machines that had to connect to a remote TPU. Today the TPU is part of the machine that
runs the notebook (a "TPU VM"): nothing has to be connected, and the call reports what it finds.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from ..errors import XlascopeError
from ..xla.devices.backend import default_backend, devices
from ..xla.platforms.hardware_detection import count_tpu_chips

_ANY_TPU = "v5e-1 TPU, or any other TPU that it offers"


class NoTPUError(XlascopeError, RuntimeError):
    """Error for a machine without a TPU that programs can run on."""


def setup_tpu(tpu_driver_version: str | None = None) -> None:
    """Say in one line which TPU this machine has; nothing has to be set up, so calling it again is harmless.

    ``tpu_driver_version`` is for old programs, and means nothing: the driver is the installed libtpu.
    Raises RuntimeError where there is no TPU: it names the devices that are there, and the runtime to choose.

    >>> from xlascope.tools.colab_tpu import setup_tpu
    >>> try:
    ...     setup_tpu()
    ... except RuntimeError as error:
    ...     print(str(error).splitlines()[0])
    no TPU here; programs run on 1 CPU device (cpu)...
    """
    try:
        tpus = devices("tpu")
    except RuntimeError as error:
        raise NoTPUError(_no_tpu_message(str(error))) from None
    if not tpus:
        raise NoTPUError(_no_tpu_message("libtpu finds none"))
    backend = default_backend()
    suffix = "" if backend == "tpu" else f"; programs run on {backend} all the same, by settings.platforms or default"
    print(f"{format_devices(tpus)}: {', '.join(_device_name(device) for device in tpus)}{suffix}")


def format_devices(device_list: list[Any]) -> str:
    """Return devices as text: ``8 TPU devices (TPU v5 lite)``."""
    counted = Counter((str(device.platform), str(device.device_kind)) for device in device_list)
    return ", ".join(
        f"{count} {platform.upper()} device{'s' * (count > 1)} ({kind})" for (platform, kind), count in counted.items()
    )


def _device_name(device: Any) -> str:
    return f"{device.platform}:{device.id}"


def _no_tpu_message(reason: str) -> str:
    """Return the error message for a machine without a usable TPU; ``reason`` is the error of the search."""
    head = f"no TPU here; programs run on {format_devices(devices())}"
    if "COLAB_TPU_ADDR" in os.environ:
        return (
            f"{head}. COLAB_TPU_ADDR is set: that is a TPU elsewhere on the network, of a kind that is gone. "
            f"Choose Runtime → Change runtime type → {_ANY_TPU}"
        )
    chips = count_tpu_chips()
    if chips:
        return (
            f"{head}. The machine has {chips} TPU chip{'s' * (chips > 1)}, and none can be used: {reason}. pip install "
            '"xlascope[tpu]" installs the driver, libtpu; then start the interpreter again. One process at a time can '
            "have a TPU: another notebook may hold it"
        )
    if "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ:
        return f"{head}. Choose Runtime → Change runtime type → {_ANY_TPU}; the runtime then starts anew"
    return (
        f"{head}. This is not Colab: a TPU is there on a machine that has one (a TPU VM), with pip install "
        '"xlascope[tpu]". Everything else runs on the devices that are there'
    )
