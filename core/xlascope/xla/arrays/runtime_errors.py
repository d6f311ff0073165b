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
from ...ir.avals import ShapedArray, make_aval
from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.user_frames import compose_message, user_line, where_text
from ...lru_cache import LRUCache
from ..devices.array_patching import is_xlascope_array
from ..devices.backend import ArrayImpl
from ..sharding.named_shardings import first_device
from ..sharding.sharded_arrays import array_sharding, is_multi_device
from .key_array import KeyArray, to_physical
from .memory_check import exceeds_available_memory, total_bytes

_REQUESTED_BYTES_PATTERN = re.compile(r"(?:allocating|allocate) (\d+ bytes|[\d.]+ ?[KMGT]iB)")
_ADVICE = (
    "Make the arrays smaller (a smaller batch, a smaller dtype), delete or donate (donate_argnums) what is not needed "
    "any more, or recompute what a gradient keeps (checkpoint)."
)
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
#: The name of an operation in an error of MLIR.
_OPERATION_PATTERN = re.compile(r'"(?:[^"]*/)?e\d+/(\w+)"|\'(?:stable|c)hlo\.(\w+)\'')

#: At most this many operands are listed with their types.
_MAX_LISTED_TYPES = 8


class DonatingCall(NamedTuple):
    """Call that donated an argument's memory: the names of function and argument, and the place of the call."""

    function: str
    argument: str
    where: str


#: The last donating call for arrays of each type. Repeated calls run in C++, so single arrays cannot be tracked.
_donors: LRUCache[ShapedArray, DonatingCall] = LRUCache(512)


def record_donations(jaxpr: Jaxpr, donated: Sequence[bool]) -> None:
    """Remember, for later errors, that a call is about to donate the memory of arguments.

    ``jaxpr`` is the program called, ``donated`` says for each of its operands whether it is donated. For each type of
    arrays the last call is remembered.
    """
    where = where_text(user_line())
    for index, (variable, is_donated) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if is_donated:
            _donors[variable.aval] = DonatingCall(_function_name(jaxpr), argument_name(jaxpr, index), where)


def release_donated_operands(operands: Sequence[Any], donated: Sequence[bool]) -> None:
    """Delete the operands whose memory a call has taken.

    ``donated`` says for each operand whether it was donated. A later call with a deleted array comes to Python, which
    raises our error; jaxlib's call cache would raise its own.
    """
    for x, is_donated in zip(operands, donated, strict=True):
        if is_donated and isinstance(x, (ArrayImpl, KeyArray)):
            array = to_physical(x)
            if array.is_deleted():
                array.delete()


def require_live(jaxpr: Jaxpr, values: Sequence[Any], used_values: Sequence[bool]) -> None:
    """Raise DeletedArrayError when a program needs a constant or an operand that has been donated or deleted.

    ``values`` are the constants and then the operands; ``used_values`` says which of them the compiled program takes.
    """
    count = len(jaxpr.constvars)
    for index, (x, is_used) in enumerate(zip(values, used_values, strict=True)):
        if is_used and isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            name = _function_name(jaxpr)
            closure = f"a value that {name} closes over"
            raise deleted_error(x, closure if index < count else f"{argument_name(jaxpr, index - count)} of {name}")


def deleted_error(array: Any, label: str = "an array") -> DeletedArrayError:
    """Return the error for an array that is used after its memory was donated or deleted.

    ``label`` says in the message which array it is. The message names the call that donated an array of this type
    last.
    """
    kind, donor = array.aval.str_short(), _donors.get(array.aval)
    cause = (
        f"An array of this type was donated to {donor.function} (its {donor.argument}){donor.where}"
        if donor is not None
        else "It was deleted (x.delete()), or donated to a jitted function"
    )
    problem = (
        f"{label}, of type {kind}, has been deleted or donated. {cause}. A call may reuse the memory of an argument "
        "that is donated to it, so the array is gone after the call."
    )
    fix = "Go on with the call's result (x = f(x)), pass a copy (x.copy()), or leave donate_argnums away."
    return DeletedArrayError(compose_message(problem, fix))


def compilation_error(error: Exception, program: ClosedJaxpr, platform: str) -> CompilationError:
    """Return the error for a program that the compiler refuses, with the operation, its types, and advice.

    ``error`` is the compiler's, whose text the result holds as ``compiler_text``.
    """
    match = _OPERATION_PATTERN.search(str(error))
    name = (
        match[1] or match[2]
        if match is not None
        else program.jaxpr.raw[0][0].name
        if len(program.jaxpr.raw) == 1
        else ""
    )
    types = _operand_types_text(program.in_avals)
    function = _function_name(program.jaxpr)
    description = f"{name} in {function}" if name != program.name else name
    return CompilationError(
        f"{description if name else function} of {types or 'no operands'} could not be compiled for "
        f"{platform}{where_text(user_line())}. It should have been refused with a reason, or compiled: this is a gap "
        "of ours, please report it. Other dtypes may work (astype); the attribute compiler_text of this error holds "
        "what the compiler said.",
        str(error),
    )


def _operand_types_text(avals: Sequence[ShapedArray]) -> str:
    """Return the types of operands as text; of many operands the types of the first ones and the number."""
    type_texts = ", ".join(aval.str_short() for aval in avals[:_MAX_LISTED_TYPES])
    return type_texts if len(avals) <= _MAX_LISTED_TYPES else f"{type_texts}, … ({len(avals)} operands)"


def memory_error(error: Exception, jaxpr: Jaxpr, executable: Any, device: Any) -> OutOfMemoryError:
    """Return the error for a program that does not fit into its device's memory, with sizes and advice.

    ``error`` is jaxlib's. ``executable`` gives the sizes; it is None if compiling has failed.
    """
    return OutOfMemoryError(
        f"{_function_name(jaxpr)} needs more memory than {device.platform}:{device.id} has left"
        f"{where_text(user_line())}: {_requested_text(error)}.{_memory_stats_text(executable)}"
        f"{_largest_array_text(jaxpr)}{_live_arrays_text(device)} {_ADVICE}"
    )


def require_memory(program: ClosedJaxpr, donated: Sequence[bool], device: Any) -> None:
    """Raise OutOfMemoryError before compiling a program whose results do not fit into its device's memory.

    ``donated`` says for each operand whether it is donated: results may reuse its memory.
    """
    donated_avals = [aval for aval, is_donated in zip(program.in_avals, donated, strict=False) if is_donated]
    if exceeds_available_memory(program.out_avals, donated_avals, device):
        raise _results_memory_error(program, device)


def _results_memory_error(program: ClosedJaxpr, device: Any) -> OutOfMemoryError:
    arguments, results = (size_text(total_bytes(avals)) for avals in (program.in_avals, program.out_avals))
    return OutOfMemoryError(
        f"{_function_name(program.jaxpr)} needs more memory than {device.platform}:{device.id} has left"
        f"{where_text(user_line())}: its arguments take {arguments}, its results {results}."
        f"{_largest_array_text(program.jaxpr)}{_live_arrays_text(device)} {_ADVICE}"
    )


def late_memory_error(error: Exception, array: Any) -> OutOfMemoryError:
    """Return the error for an array whose program ran out of memory after the call had returned.

    ``error`` is jaxlib's, raised when the array was read.
    """
    device = first_device(array._sharding)
    return OutOfMemoryError(
        f"there is no value for this array of type {array.aval.str_short()}{where_text(user_line())}: the program that "
        f"computes it, or what it is computed from, needs more memory than {device.platform}:{device.id} has left: "
        f"{_requested_text(error)}.{_live_arrays_text(device)} {_ADVICE}"
    )


def is_out_of_memory(error: Exception) -> bool:
    """Return whether jaxlib raised an error because there was not enough memory."""
    text = str(error)
    return text.startswith("RESOURCE_EXHAUSTED") or "Out of memory" in text


#: Live arrays are listed in out-of-memory errors from this total size on.
_MIN_REPORTED_BYTES = 2**20


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
    """Return the user's name of argument number ``index`` of a program, such as ``argument x``.

    It is ``operand 0`` where arguments have no names, as those of a single operation.
    """
    names = jaxpr.argument_names
    return f"argument {names[index]}" if index < len(names) else f"operand {index}"


def _function_name(jaxpr: Jaxpr) -> str:
    return jaxpr.name or "the function"


def _requested_text(error: Exception) -> str:
    match = _REQUESTED_BYTES_PATTERN.search(str(error))
    if match is None:
        return str(error)
    number, _, unit = match[1].partition(" ")
    return f"it asked for {size_text(int(number)) if unit == 'bytes' else match[1]}"


def _memory_stats_text(executable: Any) -> str:
    try:
        stats = executable.get_compiled_memory_stats()
    except Exception:  # not every platform has statistics
        return ""
    return (
        f" Its arguments take {size_text(stats.argument_size_in_bytes)}, its results "
        f"{size_text(stats.output_size_in_bytes)}, values in between {size_text(stats.temp_size_in_bytes)}."
    )


def _largest_array_text(jaxpr: Jaxpr) -> str:
    avals = {v.aval for v in (*jaxpr.invars, *jaxpr.outvars)} | {y.aval for raw in jaxpr.raw for y in raw[2]}
    largest = max(avals, key=lambda aval: total_bytes([aval]), default=None)
    if largest is None:
        return ""
    return f" The largest array in it is {largest.str_short()}, {size_text(total_bytes([largest]))}."


def _live_arrays_text(device: Any) -> str:
    """Return a sentence about the largest live arrays in a device's memory; ``""`` if they take less than a MiB."""
    sizes_by_type: dict[str, list[int]] = {}
    try:
        for array in filter(is_xlascope_array, device.client.live_arrays()):
            if not array.is_deleted() and device in array.devices():
                shape = array_sharding(array).shard_shape(array.shape) if is_multi_device(array) else array.shape
                size = total_bytes([make_aval(shape, array.dtype)])
                sizes_by_type.setdefault(f"{array.dtype}{list(array.shape)}", []).append(size)
    except Exception:  # a failing device
        return ""
    total = sum(map(sum, sizes_by_type.values()))
    if total < _MIN_REPORTED_BYTES:
        return ""
    largest = sorted(sizes_by_type.items(), key=lambda item: -sum(item[1]))[:3]
    listing = ", ".join(f"{len(sizes)} × {kind} ({size_text(sum(sizes))})" for kind, sizes in largest)
    return f" Arrays that live on it take {size_text(total)} already, most of it {listing}."
