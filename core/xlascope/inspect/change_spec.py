"""Validation and description of a change to a call, shared by all producers of programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .program import ChangeError

#: Kinds of changes, with an example each.
EXAMPLES: dict[str, Any] = {
    "options": {"xla_cpu_enable_fast_math": True},
    "split": ("3", "5"),
    "donate": 0,
    "precision": "highest",
    "dtype": "bfloat16",
    "batch": {"x": 64},
    "keep": "off",
    "reroll": "always",
}
#: Reason why a call with donated arguments is not measured.
DONATED_UNMEASURED = "a donated argument is gone after a call, and would have to be copied for the next one"


def parse_change(change: Any, kinds: Collection[str], prefix: str = "") -> tuple[str, Any]:
    """Return the kind and the value of a change; raise ChangeError, with examples, for an unknown kind.

    ``kinds`` are the kinds that the caller supports, ``prefix`` starts the error message.
    """
    if not isinstance(change, Mapping) or len(change) != 1 or not set(change) <= set(kinds):
        examples = ", ".join(f"{{{name!r}: {EXAMPLES[name]!r}}}" for name in EXAMPLES if name in kinds)
        raise ChangeError(f"{prefix}change is one of {examples}; got {change!r}")
    ((kind, value),) = change.items()
    return kind, value


def check_flags(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a non-empty mapping of XLA's flags; raise ChangeError otherwise."""
    if not isinstance(value, Mapping) or not value:
        raise ChangeError(f"options are XLA's flags by name, as in {EXAMPLES['options']}; got {value!r}")
    return value


def format_flags(value: Mapping[str, Any]) -> str:
    """Return flags as text.

    >>> format_flags({"xla_cpu_enable_fast_math": True})
    'xla_cpu_enable_fast_math=True'
    """
    return ", ".join(f"{name}={text}" for name, text in value.items())


def parse_donation(value: Any, names: Sequence[str], count: int) -> tuple[list[int], str]:
    """Return the positions of arguments given by position or name, and a description of their donation.

    ``value`` is a position or name, or several; ``names`` are the parameters of the function, ``count`` is the number
    of the call's positional arguments. Raises ChangeError for a name or position that is not among them.
    """
    arguments = (value,) if isinstance(value, int | str) else value
    numbers = [_argument_index(argument, names, count) for argument in arguments]
    return numbers, f"argument{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} donated"


def _argument_index(argument: int | str, names: Sequence[str], count: int) -> int:
    if isinstance(argument, int):
        if not -count <= argument < count:
            positions = [
                f"{number} ({names[number]})" if number < len(names) else str(number) for number in range(count)
            ]
            raise ChangeError(
                f"the call has no argument {argument}; it has {', '.join(positions) or 'none by position'}"
            )
        return argument
    if argument not in names:
        raise ChangeError(f"the function has no argument {argument!r}; it has {', '.join(names)}")
    return names.index(argument)


def non_floating_dtype_error(value: Any) -> ChangeError:
    """Return the error for a dtype that is not a floating-point one."""
    return ChangeError(f"dtype is what floating-point arguments become, as in 'bfloat16'; got {value!r}")


def narrowed_dtype_error(name: str, setting: str = "xlascope.config.update('enable_x64', True)") -> ChangeError:
    """Return the error for a dtype of 64 bits while such types are off; ``setting`` is the call that turns them on."""
    return ChangeError(f"arrays cannot be {name} while 64-bit types are off: {setting} turns them on")


def no_floating_argument_error(name: str) -> ChangeError:
    """Return the error for a call without floating-point arguments."""
    return ChangeError(f"no argument is a floating-point array: there is nothing to turn into {name}")
