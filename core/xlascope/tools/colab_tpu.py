"""``colab_tpu.setup_tpu()``, with which notebooks for Colab's TPUs begin.

It was written for machines whose TPU stood elsewhere and had to be connected to. Today a TPU is part of the machine
that the notebook runs on (a "TPU VM"): there is nothing to connect, and the call says what it found.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from ..errors import XlascopeError
from ..xla.devices.backend import default_backend, devices
from ..xla.platforms.hardware import tpu_chips

_ANY_TPU = "v5e-1 TPU, or any other TPU that it offers"


class NoTPUError(XlascopeError, RuntimeError):
    """There is no TPU here that programs can run on."""


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
        found = devices("tpu")
    except RuntimeError as error:
        raise NoTPUError(_missing(str(error))) from None
    if not found:
        raise NoTPUError(_missing("libtpu finds none"))
    chosen = default_backend()
    rest = "" if chosen == "tpu" else f"; programs run on {chosen} all the same, by settings.platforms or default"
    print(f"{in_words(found)}: {', '.join(_name(each) for each in found)}{rest}")


def in_words(found: list[Any]) -> str:
    """Devices as people count them, ``8 TPU devices (TPU v5 lite)``."""
    counted = Counter((str(each.platform), str(each.device_kind)) for each in found)
    return ", ".join(
        f"{count} {platform.upper()} device{'s' * (count > 1)} ({kind})" for (platform, kind), count in counted.items()
    )


def _name(device: Any) -> str:
    return f"{device.platform}:{device.id}"


def _missing(why: str) -> str:
    """What to say where programs find no TPU; ``why`` is what the search for one said."""
    here = f"no TPU here; programs run on {in_words(devices())}"
    if "COLAB_TPU_ADDR" in os.environ:
        return (
            f"{here}. COLAB_TPU_ADDR is set: that is a TPU elsewhere on the network, of a kind that is gone. "
            f"Choose Runtime → Change runtime type → {_ANY_TPU}"
        )
    chips = tpu_chips()
    if chips:
        return (
            f"{here}. The machine has {chips} TPU chip{'s' * (chips > 1)}, and none can be used: {why}. pip install "
            '"xlascope[tpu]" installs the driver, libtpu; then start the interpreter again. One process at a time can '
            "have a TPU: another notebook may hold it"
        )
    if "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ:
        return f"{here}. Choose Runtime → Change runtime type → {_ANY_TPU}; the runtime then starts anew"
    return (
        f"{here}. This is not Colab: a TPU is there on a machine that has one (a TPU VM), with pip install "
        '"xlascope[tpu]". Everything else runs on the devices that are there'
    )
