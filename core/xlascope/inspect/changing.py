"""What a change of one thing about a call is made of, whoever's call it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .program import ChangeError

#: What can be changed, with an example each.
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
#: Why a call that gives its arguments away is not measured.
GONE = "a donated argument is gone after a call, and would have to be copied for the next one"


def the_change(change: Any, kinds: Collection[str], whose: str = "") -> tuple[str, Any]:
    """The kind and the value of a change that is one of ``kinds``; raises ChangeError, with examples, for any other."""
    if not isinstance(change, Mapping) or len(change) != 1 or not set(change) <= set(kinds):
        examples = ", ".join(f"{{{name!r}: {EXAMPLES[name]!r}}}" for name in EXAMPLES if name in kinds)
        raise ChangeError(f"{whose}change is one of {examples}; got {change!r}")
    ((kind, value),) = change.items()
    return kind, value


def flags(value: Any) -> Mapping[str, Any]:
    """XLA's flags by name; raises ChangeError for what is none."""
    if not isinstance(value, Mapping) or not value:
        raise ChangeError(f"options are XLA's flags by name, as in {EXAMPLES['options']}; got {value!r}")
    return value


def flags_text(value: Mapping[str, Any]) -> str:
    """Flags in words.

    >>> flags_text({"xla_cpu_enable_fast_math": True})
    'xla_cpu_enable_fast_math=True'
    """
    return ", ".join(f"{name}={text}" for name, text in value.items())


def donated_arguments(value: Any, names: Sequence[str]) -> tuple[list[int], str]:
    """The places of arguments that are given by place or name, and that they are donated, in words."""
    numbers = [_place(each, names) for each in ((value,) if isinstance(value, int | str) else value)]
    return numbers, f"argument{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} donated"


def _place(argument: int | str, names: Sequence[str]) -> int:
    if isinstance(argument, int):
        return argument
    if argument not in names:
        raise ChangeError(f"the function has no argument {argument!r}; it has {', '.join(names)}")
    return names.index(argument)


def not_floating(value: Any) -> ChangeError:
    """What is wrong with a dtype that is no floating-point one."""
    return ChangeError(f"dtype is what floating-point arguments become, as in 'bfloat16'; got {value!r}")


def nothing_floating(name: str) -> ChangeError:
    """What is wrong where no argument has a floating-point dtype."""
    return ChangeError(f"no argument is a floating-point array: there is nothing to turn into {name}")
