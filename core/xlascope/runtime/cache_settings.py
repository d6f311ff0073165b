"""Settings of the persistent compilation cache: names, valid values, and initial values.

They are initialized from the environment: ``XLASCOPE_COMPILATION_CACHE_DIR`` and so on, or ``JAX_`` in front.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from .boot import Configuration

_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def _to_folder(value: Any, name: str = "compilation_cache_dir") -> str | None:
    """Convert a value of the setting of that name to an absolute path; None or "" to None.

    Raises ValueError for a URL and for a home folder that does not exist.
    """
    if value is None or value == "":
        return None
    path = os.fspath(value)
    if not isinstance(path, str) or "://" in path:
        raise ValueError(f"{name} is a folder of this machine's file system, not {value!r}")
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):  # do not create a folder named ~
        raise ValueError(f"{name} is {value!r}, and there is no such home folder; write ./~ for that name")
    return os.path.abspath(expanded)


def _to_folders(value: Any) -> tuple[str, ...]:
    """Convert a value of ``compilation_cache_shared_dirs`` to absolute paths: a sequence, or a text with ``:`` between.

    Windows writes ``;``. Raises ValueError for a URL and for a home folder that does not exist.
    """
    name = "compilation_cache_shared_dirs"
    if value is None:
        return ()
    try:
        paths = value.split(os.pathsep) if isinstance(value, str) else [os.fspath(path) for path in value]
    except TypeError:
        raise ValueError(f"{name} is a sequence of folders, not {value!r}") from None
    return tuple(folder for path in paths if (folder := _to_folder(path, name)) is not None)


def _to_switch(value: Any) -> bool | None:
    """Convert a value to True, False or None; None enables the cache if a folder is set."""
    if value is None or isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        raise ValueError(f"enable_compilation_cache is True, False or None, not {value!r}")
    return text in _YES


def _make_number_converter(name: str, number_type: type) -> Callable[[Any], Any]:
    """Return the converter of a setting's values to ``number_type``, which raises ValueError for other values."""

    def convert(value: Any) -> Any:
        try:
            if isinstance(value, bool):
                raise TypeError
            return number_type(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name} is a number ({number_type.__name__}), not {value!r}") from None

    return convert


#: Converters of values by setting, which raise ValueError for invalid ones.
CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "enable_compilation_cache": _to_switch,
    "compilation_cache_dir": _to_folder,
    "compilation_cache_shared_dirs": _to_folders,
    "compilation_cache_max_size": _make_number_converter("compilation_cache_max_size", int),
    "persistent_cache_min_compile_time_secs": _make_number_converter("persistent_cache_min_compile_time_secs", float),
    "persistent_cache_min_entry_size_bytes": _make_number_converter("persistent_cache_min_entry_size_bytes", int),
}


def _make_state(name: str, default: Any) -> Any:
    """Create the state of a setting, initialized from the environment; a variable with an invalid value only warns."""
    value = default
    for variable in (f"XLASCOPE_{name.upper()}", f"JAX_{name.upper()}"):
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            value = CONVERTERS[name](text)
        except ValueError as error:  # an optional variable must not make the import fail
            warnings.warn(f"the environment variable {variable} is ignored: {error}", stacklevel=2)
        break
    return Configuration(name, value, include_in_jit_key=False, include_in_trace_context=False)


enable_compilation_cache = _make_state("enable_compilation_cache", None)
compilation_cache_dir = _make_state("compilation_cache_dir", None)
#: Folders of other users, which are read alone.
compilation_cache_shared_dirs = _make_state("compilation_cache_shared_dirs", ())
#: Bytes; least recently used entries are evicted first. Negative: no bound.
compilation_cache_max_size = _make_state("compilation_cache_max_size", 2 << 30)
#: Programs that compile faster are not cached. Loading takes 1% of the compile time and storing less, so all are.
persistent_cache_min_compile_time_secs = _make_state("persistent_cache_min_compile_time_secs", 0.0)
persistent_cache_min_entry_size_bytes = _make_state("persistent_cache_min_entry_size_bytes", 0)

#: The settings by name.
STATES = {
    "enable_compilation_cache": enable_compilation_cache,
    "compilation_cache_dir": compilation_cache_dir,
    "compilation_cache_shared_dirs": compilation_cache_shared_dirs,
    "compilation_cache_max_size": compilation_cache_max_size,
    "persistent_cache_min_compile_time_secs": persistent_cache_min_compile_time_secs,
    "persistent_cache_min_entry_size_bytes": persistent_cache_min_entry_size_bytes,
}
