"""The part ``memory``: donation, statistics, transfers, and an allocation that exceeds the memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...api import block_until_ready, device_put, jit
from ...errors import OutOfMemoryError
from .context import Context
from .programs.journal import FAILS, WORKS, Item, Skipped

#: The sizes of transferred arrays for small and large programs, and the number of rounds.
TRANSFER_BYTES = {"small": (1 << 12, 1 << 20, 1 << 26), "large": (1 << 12, 1 << 20, 1 << 28)}
ROUND_COUNT = 9
#: A rate that no copy reaches.
MAX_BYTES_PER_SECOND = 5e12
#: More bytes than any device has, for devices that do not report their memory.
UNALLOCATABLE_BYTES = 1 << 50


def items(context: Context) -> Iterator[Item]:
    """Yield the checks of memory; those that exhaust it come last."""
    yield Item("donation", lambda: _check_donation(context))
    yield Item("statistics", lambda: _check_statistics(context))
    yield Item("transfers", lambda: _time_transfers(context))
    yield Item("out of memory", lambda: _exhaust_memory(context))
    yield Item("after it", lambda: _check_recovery(context))


def _check_donation(context: Context) -> dict[str, Any]:
    """Check that a donated argument is deleted, and report whether its memory is used again."""
    f: Any = jit(lambda x: x * 2.0, donate_argnums=0)
    donated = block_until_ready(device_put(np.ones(1 << 20, np.float32), context.device))
    address = _buffer_address(donated)
    result = block_until_ready(f(donated))
    assert donated.is_deleted(), "the donated array is still there"
    assert float(result[5]) == 2.0
    same = address is not None and _buffer_address(result) == address
    return {
        "words": "the memory is used again" if same else "the argument is gone; its memory is another",
        "same": same,
    }


def _buffer_address(x: Any) -> int | None:
    try:
        return int(x.unsafe_buffer_pointer())
    except Exception:
        return None


def _memory_stats(context: Context) -> dict[str, int]:
    return dict(context.device.memory_stats() or {})


def _check_statistics(context: Context) -> dict[str, Any]:
    """Check that the device's memory count rises with an array's size and falls when the array is deleted."""
    before = _memory_stats(context)
    if "bytes_in_use" not in before:
        raise Skipped("the device keeps no count of its memory")
    array = block_until_ready(device_put(np.ones(1 << 22, np.float32), context.device))
    during, size = _memory_stats(context), array.nbytes
    del array
    after = _memory_stats(context)
    rise = during["bytes_in_use"] - before["bytes_in_use"]
    assert size <= rise <= 2 * size, f"{size} bytes count as {rise}"
    assert after["bytes_in_use"] < during["bytes_in_use"], "what is deleted still counts"
    return {"words": f"{during['bytes_in_use'] / 1e6:.1f} MB in use, as it should be", "memory": during}


def _time_transfers(context: Context) -> dict[str, Any]:
    """Measure transfers of arrays of several sizes to the device and back."""
    rows = []
    for size in TRANSFER_BYTES[context.size]:
        x = np.arange(size // 4, dtype=np.float32)
        on_device = block_until_ready(device_put(x, context.device))
        to = _median_seconds(lambda x=x: block_until_ready(device_put(x, context.device)))  # type: ignore[misc]
        fresh = iter([block_until_ready(on_device + np.float32(number)) for number in range(ROUND_COUNT + 1)])
        back = _median_seconds(lambda fresh=fresh: np.asarray(next(fresh)))  # type: ignore[misc]
        rows.append({"bytes": size, "to_s": to, "back_s": back})
    largest, least = rows[-1], rows[0]
    words = f"{largest['bytes'] / 1e6:.0f} MB: {_format_rate(largest['bytes'], largest['to_s'])} to the device, "
    words += f"{_format_rate(largest['bytes'], largest['back_s'])} back; "
    words += (
        f"{least['bytes']} B: {least['to_s'] * 1e6:.0f} µs and {least['back_s'] * 1e6:.0f} µs (median of {ROUND_COUNT})"
    )
    return {"words": words, "sizes": rows}


def _format_rate(size: float, seconds: float) -> str:
    """Format bytes per second; a transfer faster than any copy is taken to share memory.

    >>> _format_rate(2e9, 0.5), _format_rate(2e9, 1e-6)
    ('4.00 GB/s', 'without a copy')
    """
    rate = size / seconds
    return f"{rate / 1e9:.2f} GB/s" if rate < MAX_BYTES_PER_SECOND else "without a copy"


#: jaxlib's own error for a call on its C++ fast path.
_JAXLIB_OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"


def _median_seconds(call: Callable[[], Any]) -> float:
    call()
    seconds = []
    for _ in range(ROUND_COUNT):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _exhaust_memory(context: Context) -> dict[str, Any]:
    """Check that an allocation beyond the memory raises an error that lists the live arrays.

    Allocating smaller pieces until the memory is full repeats calls in jaxlib's C++ fast path, which raises
    its own error.
    """
    survivor = device_put(np.ones((123, 4567), np.float32), context.device)
    limit = _memory_stats(context).get("bytes_limit")
    size = int(1.5 * limit) if limit else UNALLOCATABLE_BYTES
    errors = {"at once": _catch_error(lambda: jnp.ones((size // 4,), jnp.float32, device=context.device))}
    if limit and context.device.platform != "cpu":
        errors["piece by piece"] = _catch_error(lambda: _fill_memory(context, limit))
    named = {how: "123,4567" in text.replace(" ", "") for how, (_, text) in errors.items()}
    right = errors["at once"][0] == "OutOfMemoryError" and named["at once"]
    right = right and all(kind == "OutOfMemoryError" or _JAXLIB_OUT_OF_MEMORY in text for kind, text in errors.values())
    words = "; ".join(f"{how}: {kind}{', names what lives' if named[how] else ''}" for how, (kind, _) in errors.items())
    if not right:
        words += "; " + "; ".join(text[:300] for _, text in errors.values())
    del survivor
    return {"result": WORKS if right else FAILS, "words": words, "errors": errors}


def _fill_memory(context: Context, limit: int) -> None:
    """Allocate arrays of a sixteenth of ``limit`` bytes each until allocation fails, at most twice the limit."""
    pieces = []
    for number in range(32):
        pieces.append(block_until_ready(jnp.full((limit // 64,), number, jnp.float32, device=context.device)))


def _catch_error(call: Callable[[], Any]) -> tuple[str, str]:
    try:
        block_until_ready(call())
    except OutOfMemoryError as error:
        return "OutOfMemoryError", str(error)
    except Exception as error:
        return type(error).__name__, str(error)
    return "no error", ""


def _check_recovery(context: Context) -> str:
    x = block_until_ready(device_put(np.ones((256, 256), np.float32), context.device))
    assert float(jnp.sum(x @ x)) == 256.0**3
    return "the process goes on"
