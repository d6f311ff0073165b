"""The settings of the persistent compilation cache: what they are called, what values they take, where they start.

They start from the environment: ``XLASCOPE_COMPILATION_CACHE_DIR`` and so on, or ``JAX_`` in front.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from .boot import Configuration

_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def _folder(value: Any) -> str | None:
    if value is None or value == "":
        return None
    path = os.fspath(value)
    if not isinstance(path, str) or "://" in path:
        raise ValueError(f"compilation_cache_dir is a folder of this machine's file system, not {value!r}")
    found = os.path.expanduser(path)
    if found.startswith("~"):  # a folder of that name would be a trap
        raise ValueError(
            f"compilation_cache_dir is {value!r}, and there is no such home folder; write ./~ for that name"
        )
    return os.path.abspath(found)


def _switch(value: Any) -> bool | None:
    """True and False decide; None leaves it to whether a folder is set."""
    if value is None or isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        raise ValueError(f"enable_compilation_cache is True, False or None, not {value!r}")
    return text in _YES


def _number(name: str, of: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            if isinstance(value, bool):
                raise TypeError
            return of(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name} is a number ({of.__name__}), not {value!r}") from None

    return convert


#: What a value has to be, by the setting's name: functions that convert it, or raise ValueError.
CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "enable_compilation_cache": _switch,
    "compilation_cache_dir": _folder,
    "compilation_cache_max_size": _number("compilation_cache_max_size", int),
    "persistent_cache_min_compile_time_secs": _number("persistent_cache_min_compile_time_secs", float),
    "persistent_cache_min_entry_size_bytes": _number("persistent_cache_min_entry_size_bytes", int),
}


def _state(name: str, default: Any) -> Any:
    value = default
    for variable in (f"XLASCOPE_{name.upper()}", f"JAX_{name.upper()}"):
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            value = CONVERTERS[name](text)
        except ValueError as error:  # importing a library should not fail over a variable that it can do without
            warnings.warn(f"the environment variable {variable} is ignored: {error}", stacklevel=2)
        break
    return Configuration(name, value, include_in_jit_key=False, include_in_trace_context=False)


enable_compilation_cache = _state("enable_compilation_cache", None)
compilation_cache_dir = _state("compilation_cache_dir", None)
#: Bytes; what was not used for longest goes first. Negative: no bound.
compilation_cache_max_size = _state("compilation_cache_max_size", 2 << 30)
#: What compiles faster than this is not kept. Loading takes a hundredth of compiling and keeping less, so all is kept.
persistent_cache_min_compile_time_secs = _state("persistent_cache_min_compile_time_secs", 0.0)
persistent_cache_min_entry_size_bytes = _state("persistent_cache_min_entry_size_bytes", 0)

#: The settings by name.
STATES = {
    "enable_compilation_cache": enable_compilation_cache,
    "compilation_cache_dir": compilation_cache_dir,
    "compilation_cache_max_size": compilation_cache_max_size,
    "persistent_cache_min_compile_time_secs": persistent_cache_min_compile_time_secs,
    "persistent_cache_min_entry_size_bytes": persistent_cache_min_entry_size_bytes,
}
