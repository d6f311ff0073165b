"""Compiled programs kept on disk: a program that was compiled before, in this process or another, is loaded instead.

Off unless a setting turns it on (``compilation_cache_dir``, or ``enable_compilation_cache`` for the user's own folder).

**The key** is the SHA-256 of the very bytes that are compiled, and of all else that shapes the result: options, XLA's
flags, jaxlib, the device and its machine. The bytes are the StableHLO with the names of operations, which say which
equation is which, but without files and lines: those change with every edit above a function, and an executable that
held them would show somebody else's. So a program that was loaded knows its equations as well as one that was
compiled, and lines come from the jaxpr, where our tools take them from anyway.

**The module's name** is unique in a process, since profiles name modules and nothing else. An executable spells it
wherever the profiler wants it, so it is kept with a mark of the same length in its place, which loading replaces
by the new name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import warnings
from typing import Any, Literal, NamedTuple

from jaxlib import _jax, version, xla_client
from jaxlib.mlir import ir

from ...runtime import cache_settings as settings
from ..devices.backend import devices_list
from ..mlir.builder import bytecode
from ..system.own_files import user_folder
from ..system.uninterrupted import uninterrupted
from .cache_folder import Entry, Folder
from .compiling import Made, Source, compile_source

#: Digits of a module's number, so that all names of a function's modules are equally long.
_DIGITS = 8
#: Stands for the number in what is kept.
_MARK = "~" * _DIGITS
#: Operations that talk to the process which compiled them.
_TALKING = frozenset({"stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed"})


class Loaded(NamedTuple):
    """An executable, the name of its module, and where it comes from; ``made`` says more of one that was compiled."""

    executable: Any
    module: str
    cache: Literal["hit", "miss"]
    made: Made | None = None


def load_or_compile(source: Source, module: Any, devices: tuple[Any, ...], options: Any) -> Loaded:
    """The executable of a StableHLO module for devices that share it, from disk when it is there.

    Raises jaxlib's error when XLA refuses the module. An interrupt harms nothing.
    """
    folder = current_folder()
    portable = None if folder is None else without_lines(module)
    if folder is None or portable is None:
        return _made(compile_source(source, devices, options))
    base, _, number = source.module.rpartition(".")
    named = _Naming(base, int(number))
    key = key_of(_bytes_of(portable, base), devices[0], options)
    loaded = _load(folder, key, named, devices, options)
    if loaded is not None:
        return Loaded(loaded, named.unique, "hit")
    content = functools.partial(_bytes_of, portable, named.unique)
    portable_source = source._replace(content=content, module=named.unique, identity=lambda: ("kept", key))
    made = compile_source(portable_source, devices, options)
    _keep(folder, key, made, devices[0])
    return _made(made)


def is_kept(module: Any, name: str, device: Any, options: Any) -> bool:
    """Whether what XLA makes of a module for a device is on disk."""
    folder = current_folder()
    portable = None if folder is None else without_lines(module)
    if folder is None or portable is None:
        return False
    return folder.read(key_of(_bytes_of(portable, name.rpartition(".")[0]), device, options)) is not None


def _made(made: Made) -> Loaded:
    return Loaded(made.executable, made.module, "miss", made)


def current_folder() -> Folder | None:
    """The folder that the settings ask for; None when the cache is off."""
    enabled, path = settings.enable_compilation_cache.value, settings.compilation_cache_dir.value
    if enabled is False or (enabled is None and path is None):
        return None
    chosen = path or user_folder()
    if chosen is None:
        _warn_of_no_home()
        return None
    return _folder(chosen)


def without_lines(module: Any) -> Any:
    """A copy of a module whose operations have names but no lines; None for one that only this process can run."""
    copy = module.operation.clone()
    local = False

    def visit(operation: Any) -> Any:
        nonlocal local
        operation.location = bare = _name_only(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(bare)
        local = local or _is_local(operation)
        return ir.WalkResult.ADVANCE

    copy.walk(visit)
    return None if local else copy


def _name_only(location: Any) -> Any:
    if isinstance(location, ir.NameLoc):
        return ir.Location.name(location.name_str, context=location.context)
    if isinstance(location, ir.FileLineColLoc):
        return ir.Location.unknown(location.context)
    return location


def _is_local(operation: Any) -> bool:
    """Whether an operation calls back into the process that compiled it, by a number that means nothing elsewhere."""
    if operation.name == "stablehlo.custom_call":
        return "callback" in operation.attributes["call_target_name"].value.lower()
    return operation.name in _TALKING


def key_of(content: bytes, device: Any, options: Any) -> str:
    """The key of a module's bytes compiled with ``options`` for a device: 64 hexadecimal digits."""
    digest = hashlib.sha256(surroundings(device).encode())
    digest.update(options.SerializeAsString())  # flags for this program alone are sorted there
    digest.update(content)
    return digest.hexdigest()


@functools.cache
def surroundings(device: Any) -> str:
    """What the compiler's result depends on beside the module and the options."""
    backend = device.client
    topology = _jax.get_topology_for_devices([device])
    facts = {
        "jaxlib": [version.__version__, xla_client._version],
        "platform": [backend.platform, backend.platform_version, device.device_kind, str(topology.fingerprint())],
        "devices": backend.device_count(),
        "machine": [platform.system(), platform.machine(), processor()],
        "threads": [_processors(), os.environ.get("NPROC")],
        "flags": os.environ.get("XLA_FLAGS", ""),
    }
    return json.dumps(facts, sort_keys=True)


def _processors() -> int | None:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@functools.cache
def processor() -> str:
    """The processor's model and instruction sets, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read().split("\n\n")[0]
    except OSError:
        return platform.processor()
    told = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    return "\n".join(line for line in first.splitlines() if line.startswith(told))


def _bytes_of(module: Any, name: str) -> bytes:
    module.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return bytecode(module)


class _Naming:
    """The names of one module: unique in the process, and as it is kept."""

    def __init__(self, base: str, number: int) -> None:
        self.unique = f"{base}.{number:0{_DIGITS}}"
        self._unique = self.unique.encode()
        self._kept = f"{base}.{_MARK}".encode()

    def to_keep(self, executable: bytes) -> bytes | None:
        """The bytes to keep; None if the name cannot be replaced in them."""
        if self._unique not in executable or self._kept in executable:
            return None
        return executable.replace(self._unique, self._kept)

    def to_load(self, kept: bytes) -> bytes:
        """The bytes to load from those that were kept."""
        return kept.replace(self._kept, self._unique)


def _load(folder: Folder, key: str, named: _Naming, devices: tuple[Any, ...], options: Any) -> Any:
    entry = folder.read(key)
    if entry is None:
        return None
    content, listed = named.to_load(entry.data), devices_list(devices)
    load = devices[0].client.deserialize_executable
    try:
        return uninterrupted(lambda: load(content, listed, options))
    except (_jax.JaxRuntimeError, ValueError) as error:
        folder.discard(key, f"jaxlib cannot load it ({error})")
        return None


def _keep(folder: Folder, key: str, made: Made, device: Any) -> None:
    """Write what was compiled into the folder, if the settings want it there and the platform can."""
    if made.seconds < settings.persistent_cache_min_compile_time_secs.value:
        return
    base, _, number = made.module.rpartition(".")
    try:
        data = _Naming(base, int(number)).to_keep(device.client.serialize_executable(made.executable))
    except _jax.JaxRuntimeError as error:
        _warn_of_platform(device.platform, str(error))
        return
    if data is not None and len(data) >= settings.persistent_cache_min_entry_size_bytes.value:
        facts = {"module": made.module, "seconds": made.seconds, "device": device.device_kind}
        folder.write(key, Entry(facts, data), settings.compilation_cache_max_size.value)


@functools.cache
def _warn_of_platform(name: str, error: str) -> None:
    warnings.warn(f"compiled programs for {name} cannot be kept: {error}", stacklevel=2)


@functools.cache
def _warn_of_no_home() -> None:
    warnings.warn(
        "the user has no home folder to keep compiled programs in; set compilation_cache_dir to one", stacklevel=2
    )


@functools.cache
def _folder(path: str) -> Folder:
    return Folder(path)
