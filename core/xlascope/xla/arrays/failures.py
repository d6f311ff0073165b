"""What jaxlib says when a call fails, in the user's words: no memory, and arrays that are gone.

jaxlib's C++ runs calls that it has seen before without asking us, so what fails there keeps jaxlib's own words
(``xlascope.errors.explain(error)`` knows them, and ``errors/notes.py`` adds ours where Python of ours sees them pass).
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
#: The name of an operation in what MLIR says.
_REFUSED = re.compile(r'"(?:[^"]*/)?e\d+/(\w+)"|\'(?:stable|c)hlo\.(\w+)\'')

#: So many operands are listed with their types.
_MOST_TYPES = 8


class Donor(NamedTuple):
    """A call that gave away the memory of an argument."""

    function: str
    argument: str
    where: str


#: The last donor of arrays of each type. Calls that repeat do not come by here, so single arrays cannot be remembered.
_donors: RecentlyUsed[ShapedArray, Donor] = RecentlyUsed(512)


def note_donations(jaxpr: Jaxpr, donated: Sequence[bool]) -> None:
    """Remember that a call is about to give away the memory of its donated arguments."""
    where = where_text(user_line())
    for index, (variable, given) in enumerate(zip(jaxpr.invars, donated, strict=True)):
        if given:
            _donors[variable.aval] = Donor(_function(jaxpr), argument_name(jaxpr, index), where)


def release_donated(operands: Sequence[Any], donated: Sequence[bool]) -> None:
    """Let go of the arrays whose memory a call has taken: jaxlib then asks us about a call with one, which it would
    otherwise repeat and refuse in its own words.
    """
    for x, given in zip(operands, donated, strict=True):
        if given and isinstance(x, (ArrayImpl, KeyArray)):
            array = held(x)
            if array.is_deleted():
                array.delete()


def require_live(jaxpr: Jaxpr, values: Sequence[Any], kept: Sequence[bool]) -> None:
    """Raise DeletedArrayError when a program needs a constant or an operand that has been donated or deleted.

    ``values`` are the constants and then the operands, ``kept`` says which of them the compiled program takes.
    """
    count = len(jaxpr.constvars)
    for index, (x, needed) in enumerate(zip(values, kept, strict=True)):
        if needed and isinstance(x, (ArrayImpl, KeyArray)) and x.is_deleted():
            name = _function(jaxpr)
            here = f"a value that {name} closes over"
            raise deleted_error(x, here if index < count else f"{argument_name(jaxpr, index - count)} of {name}")


def deleted_error(array: Any, what: str = "an array") -> DeletedArrayError:
    """The error for an array that is used after its memory was given away."""
    kind, donor = array.aval.str_short(), _donors.get(array.aval)
    cause = (
        f"An array of this type was donated to {donor.function} (its {donor.argument}){donor.where}"
        if donor is not None
        else "It was deleted (x.delete()), or donated to a jitted function"
    )
    said = (
        f"{what}, of type {kind}, has been deleted or donated. {cause}. A call may reuse the memory of an argument "
        "that is donated to it, so the array is gone after the call."
    )
    fix = "Go on with the call's result (x = f(x)), pass a copy (x.copy()), or leave donate_argnums away."
    return DeletedArrayError(compose_message(said, fix))


def compilation_error(error: Exception, program: ClosedJaxpr, platform: str) -> CompilationError:
    """The error for a program that the compiler refuses: which operation on which types, and what to do."""
    named = _REFUSED.search(str(error))
    name = (
        named[1] or named[2]
        if named is not None
        else program.jaxpr.raw[0][0].name
        if len(program.jaxpr.raw) == 1
        else ""
    )
    types = _types(program.in_avals)
    what = f"{name} in {_function(program.jaxpr)}" if name != program.name else name
    return CompilationError(
        f"{what if name else _function(program.jaxpr)} of {types or 'no operands'} could not be compiled for "
        f"{platform}{where_text(user_line())}. It should have been refused with a reason, or compiled: this is a gap "
        "of ours, please report it. Other dtypes may work (astype); the attribute compiler_text of this error holds "
        "what the compiler said.",
        str(error),
    )


def _types(avals: Sequence[ShapedArray]) -> str:
    """The types of operands, of many the first ones."""
    listed = ", ".join(aval.str_short() for aval in avals[:_MOST_TYPES])
    return listed if len(avals) <= _MOST_TYPES else f"{listed}, … ({len(avals)} operands)"


def memory_error(error: Exception, jaxpr: Jaxpr, executable: Any, device: Any) -> OutOfMemoryError:
    """The error for a program that does not fit on its device."""
    return OutOfMemoryError(
        f"{_function(jaxpr)} needs more memory than {device.platform}:{device.id} has left{where_text(user_line())}: "
        f"{_amount(error)}.{_needs(executable)}{_largest(jaxpr)}{_living(device)} {_SMALLER}"
    )


def require_room(program: ClosedJaxpr, donated: Sequence[bool], device: Any) -> None:
    """Raise OutOfMemoryError for a program that need not even be compiled: its results have no room on its device."""
    given = [aval for aval, away in zip(program.in_avals, donated, strict=False) if away]
    if lacks_room(program.out_avals, given, device):
        raise _no_room_error(program, device)


def _no_room_error(program: ClosedJaxpr, device: Any) -> OutOfMemoryError:
    arguments, results = (size_text(bytes_of(avals)) for avals in (program.in_avals, program.out_avals))
    return OutOfMemoryError(
        f"{_function(program.jaxpr)} needs more memory than {device.platform}:{device.id} has left"
        f"{where_text(user_line())}: its arguments take {arguments}, its results {results}."
        f"{_largest(program.jaxpr)}{_living(device)} {_SMALLER}"
    )


def late_memory_error(error: Exception, array: Any) -> OutOfMemoryError:
    """The error for an array whose program turned out not to fit on its device after the call had returned."""
    device = first_device(array._sharding)
    return OutOfMemoryError(
        f"there is no value for this array of type {array.aval.str_short()}{where_text(user_line())}: the program that "
        f"computes it, or what it is computed from, needs more memory than {device.platform}:{device.id} has left: "
        f"{_amount(error)}.{_living(device)} {_SMALLER}"
    )


def is_out_of_memory(error: Exception) -> bool:
    """Whether jaxlib raised an error because there was no memory."""
    text = str(error)
    return text.startswith("RESOURCE_EXHAUSTED") or "Out of memory" in text


#: Bytes of living arrays from which on they are named where there is no room.
_WORTH_NAMING = 2**20


def size_text(count: float) -> str:
    """A number of bytes as people read it.

    >>> size_text(4 * 2**40)
    '4 TiB'
    """
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.3g} {_UNITS[unit]}"


def argument_name(jaxpr: Jaxpr, index: int) -> str:
    """What the user calls an argument of a program: ``argument x``, ``operand 0`` of a single operation."""
    names = jaxpr.argument_names
    return f"argument {names[index]}" if index < len(names) else f"operand {index}"


def _function(jaxpr: Jaxpr) -> str:
    return jaxpr.name or "the function"


def _amount(error: Exception) -> str:
    asked = _ASKED_FOR.search(str(error))
    if asked is None:
        return str(error)
    number, _, unit = asked[1].partition(" ")
    return f"it asked for {size_text(int(number)) if unit == 'bytes' else asked[1]}"


def _needs(executable: Any) -> str:
    try:
        stats = executable.get_compiled_memory_stats()
    except Exception:  # not every platform can say
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
    """The largest arrays that take a device's memory already."""
    found: dict[str, list[int]] = {}
    try:
        for array in filter(is_ours, device.client.live_arrays()):
            if not array.is_deleted() and device in array.devices():
                shape = lies(array).shard_shape(array.shape) if is_spread(array) else array.shape
                size = bytes_of([shaped(shape, array.dtype)])
                found.setdefault(f"{array.dtype}{list(array.shape)}", []).append(size)
    except Exception:  # a device that is in trouble
        return ""
    whole = sum(map(sum, found.values()))
    if whole < _WORTH_NAMING:
        return ""
    most = sorted(found.items(), key=lambda item: -sum(item[1]))[:3]
    named = ", ".join(f"{len(sizes)} × {kind} ({size_text(sum(sizes))})" for kind, sizes in most)
    return f" Arrays that live on it take {size_text(whole)} already, most of it {named}."
