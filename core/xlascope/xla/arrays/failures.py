"""Errors of calls in the user's terms: out of memory, deleted arrays, and programs that the compiler refuses.

jaxlib's C++ repeats known calls without asking us, so what fails there keeps jaxlib's own message
(``xlascope.errors.explain(error)`` recognizes it, and ``errors/notes.py`` adds ours where the error passes through
our Python code).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import CompilationError, DeletedArrayError, OutOfMemoryError
from ...ir.avals import ShapedArray, shaped
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.sources import compose_message, user_line, where_text
from ...recent import RecentlyUsed
from ..devices.backend import ArrayImpl
from ..devices.faces import is_ours
from ..sharding.named_shardings import first_device
from ..sharding.spread import is_spread, lies
from .key_array import KeyArray, held
from .room import bytes_of, lacks_room

_ASKED_FOR = re.compile(r"(?:allocating|allocate) (\d+ bytes|[\d.]+ ?[KMGT]iB)")
_SMALLER = (
    "Make the arrays smaller (a smaller batch, a smaller dtype), delete or donate (donate_argnums) what is not needed "
    "any more, or recompute what a gradient keeps (checkpoint)."
)
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
#: The name of an operation in an error of MLIR.
_REFUSED = re.compile(r'"(?:[^"]*/)?e\d+/(\w+)"|\'(?:stable|c)hlo\.(\w+)\'')

#: At most this many operands are listed with their types.
_MOST_TYPES = 8


class Donor(NamedTuple):
    """Call that donated an argument's memory."""

    function: str
    argument: str
    where: str


#: The last donating call for arrays of each type. Repeated calls run in C++, so single arrays cannot be tracked.
_donors: RecentlyUsed[ShapedArray, Donor] = RecentlyUsed(512)


def note_donations(jaxpr: Jaxpr, donated: Sequence[bool]) -> None:
    """Remember that a call is about to donate the memory of its donated arguments."""
    where = where_text(user_line())
    for index, (variable, is_donated) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if is_donated:
            _donors[variable.aval] = Donor(_function(jaxpr), argument_name(jaxpr, index), where)


def release_donated(operands: Sequence[Any], donated: Sequence[bool]) -> None:
    """Delete the arrays whose memory a call has taken.

    jaxlib then asks us about a call with one, which it would otherwise repeat and refuse with its own message.
    """
    for x, is_donated in zip(operands, donated, strict=True):
        if is_donated and isinstance(x, (ArrayImpl, KeyArray)):
            array = held(x)
            if array.is_deleted():
                array.delete()


def require_live(jaxpr: Jaxpr, values: Sequence[Any], used_values: Sequence[bool]) -> None:
    """Raise DeletedArrayError when a program needs a constant or an operand that has been donated or deleted.

    ``values`` are the constants and then the operands; ``used_values`` says which of them the compiled program takes.
    """
    count = len(jaxpr.constvars)
    for index, (x, is_used) in enumerate(zip(values, used_values, strict=True)):
        if is_used and isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            name = _function(jaxpr)
            closure = f"a value that {name} closes over"
            raise deleted_error(x, closure if index < count else f"{argument_name(jaxpr, index - count)} of {name}")


def deleted_error(array: Any, label: str = "an array") -> DeletedArrayError:
    """Return the error for an array that is used after its memory was donated."""
    kind, donor = array.aval.str_short(), _donors.get(array.aval)
    cause = (
        f"An array of this type was donated to {donor.function} (its {donor.argument}){donor.where}"
        if donor is not None
        else "It was deleted (x.delete()), or donated to a jitted function"
    )
    said = (
        f"{label}, of type {kind}, has been deleted or donated. {cause}. A call may reuse the memory of an argument "
        "that is donated to it, so the array is gone after the call."
    )
    fix = "Go on with the call's result (x = f(x)), pass a copy (x.copy()), or leave donate_argnums away."
    return DeletedArrayError(compose_message(said, fix))


def compilation_error(error: Exception, program: ClosedJaxpr, platform: str) -> CompilationError:
    """Return the error for a program that the compiler refuses: the operation, its types, and advice."""
    match = _REFUSED.search(str(error))
    name = (
        match[1] or match[2]
        if match is not None
        else program.jaxpr.raw[0][0].name
        if len(program.jaxpr.raw) == 1
        else ""
    )
    types = _types(program.in_avals)
    description = f"{name} in {_function(program.jaxpr)}" if name != program.name else name
    return CompilationError(
        f"{description if name else _function(program.jaxpr)} of {types or 'no operands'} could not be compiled for "
        f"{platform}{where_text(user_line())}. It should have been refused with a reason, or compiled: this is a gap "
        "of ours, please report it. Other dtypes may work (astype); the attribute compiler_text of this error holds "
        "what the compiler said.",
        str(error),
    )


def _types(avals: Sequence[ShapedArray]) -> str:
    """Return the types of operands as text; of many the first ones."""
    type_texts = ", ".join(aval.str_short() for aval in avals[:_MOST_TYPES])
    return type_texts if len(avals) <= _MOST_TYPES else f"{type_texts}, … ({len(avals)} operands)"


def memory_error(error: Exception, jaxpr: Jaxpr, executable: Any, device: Any) -> OutOfMemoryError:
    """Return the error for a program that does not fit on its device."""
    return OutOfMemoryError(
        f"{_function(jaxpr)} needs more memory than {device.platform}:{device.id} has left{where_text(user_line())}: "
        f"{_amount(error)}.{_needs(executable)}{_largest(jaxpr)}{_living(device)} {_SMALLER}"
    )


def require_room(program: ClosedJaxpr, donated: Sequence[bool], device: Any) -> None:
    """Raise OutOfMemoryError before compiling a program whose results do not fit on its device."""
    donated_avals = [aval for aval, is_donated in zip(program.in_avals, donated, strict=False) if is_donated]
    if lacks_room(program.out_avals, donated_avals, device):
        raise _no_room_error(program, device)


def _no_room_error(program: ClosedJaxpr, device: Any) -> OutOfMemoryError:
    arguments, results = (size_text(bytes_of(avals)) for avals in (program.in_avals, program.out_avals))
    return OutOfMemoryError(
        f"{_function(program.jaxpr)} needs more memory than {device.platform}:{device.id} has left"
        f"{where_text(user_line())}: its arguments take {arguments}, its results {results}."
        f"{_largest(program.jaxpr)}{_living(device)} {_SMALLER}"
    )


def late_memory_error(error: Exception, array: Any) -> OutOfMemoryError:
    """Return the error for an array whose program ran out of memory after the call had returned."""
    device = first_device(array._sharding)
    return OutOfMemoryError(
        f"there is no value for this array of type {array.aval.str_short()}{where_text(user_line())}: the program that "
        f"computes it, or what it is computed from, needs more memory than {device.platform}:{device.id} has left: "
        f"{_amount(error)}.{_living(device)} {_SMALLER}"
    )


def is_out_of_memory(error: Exception) -> bool:
    """Return whether jaxlib raised an error because there was no memory."""
    text = str(error)
    return text.startswith("RESOURCE_EXHAUSTED") or "Out of memory" in text


#: Live arrays are listed in out-of-memory errors from this total size on.
_WORTH_NAMING = 2**20


def size_text(count: float) -> str:
    """Return a number of bytes in readable units.

    >>> size_text(4 * 2**40)
    '4 TiB'
    """
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.3g} {_UNITS[unit]}"


def argument_name(jaxpr: Jaxpr, index: int) -> str:
    """Return the user's name of a program's argument: ``argument x``, ``operand 0`` of a single operation."""
    names = jaxpr.argument_names
    return f"argument {names[index]}" if index < len(names) else f"operand {index}"


def _function(jaxpr: Jaxpr) -> str:
    return jaxpr.name or "the function"


def _amount(error: Exception) -> str:
    match = _ASKED_FOR.search(str(error))
    if match is None:
        return str(error)
    number, _, unit = match[1].partition(" ")
    return f"it asked for {size_text(int(number)) if unit == 'bytes' else match[1]}"


def _needs(executable: Any) -> str:
    try:
        stats = executable.get_compiled_memory_stats()
    except Exception:  # not every platform has statistics
        return ""
    return (
        f" Its arguments take {size_text(stats.argument_size_in_bytes)}, its results "
        f"{size_text(stats.output_size_in_bytes)}, values in between {size_text(stats.temp_size_in_bytes)}."
    )


def _largest(jaxpr: Jaxpr) -> str:
    avals = {v.aval for v in (*jaxpr.invars, *jaxpr.outvars)} | {y.aval for raw in jaxpr.raw for y in raw[2]}
    largest = max(avals, key=lambda aval: bytes_of([aval]), default=None)
    if largest is None:
        return ""
    return f" The largest array in it is {largest.str_short()}, {size_text(bytes_of([largest]))}."


def _living(device: Any) -> str:
    """Return a sentence about the largest live arrays in a device's memory."""
    sizes_by_type: dict[str, list[int]] = {}
    try:
        for array in filter(is_ours, device.client.live_arrays()):
            if not array.is_deleted() and device in array.devices():
                shape = lies(array).shard_shape(array.shape) if is_spread(array) else array.shape
                size = bytes_of([shaped(shape, array.dtype)])
                sizes_by_type.setdefault(f"{array.dtype}{list(array.shape)}", []).append(size)
    except Exception:  # a failing device
        return ""
    total = sum(map(sum, sizes_by_type.values()))
    if total < _WORTH_NAMING:
        return ""
    largest = sorted(sizes_by_type.items(), key=lambda item: -sum(item[1]))[:3]
    listing = ", ".join(f"{len(sizes)} × {kind} ({size_text(sum(sizes))})" for kind, sizes in largest)
    return f" Arrays that live on it take {size_text(total)} already, most of it {listing}."
