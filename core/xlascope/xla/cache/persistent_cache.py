"""Persistent compilation cache: a program that this or another process compiled before is loaded from disk.

It is off unless a setting turns it on (``compilation_cache_dir``, or ``enable_compilation_cache`` for the user's
own folder).

**The key** is the SHA-256 of the bytes that are compiled and of everything else that shapes the result: options,
XLA's flags, jaxlib, the device and its machine. The bytes are the StableHLO with the names of operations, which
map to equations, but without files and lines: those change with every edit above a function, and a cached
executable would then report another file's locations. A loaded program therefore maps to its equations as well as
a compiled one does, and lines come from the jaxpr, where our tools take them from anyway.

**The module's name** is unique in a process, since profiles identify programs by module name alone. The executable
contains it wherever the profiler needs it, so the stored bytes have a placeholder of the same length in its place,
which loading replaces by the new name.
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
#: Stands for the number in the stored bytes.
_MARK = "~" * _DIGITS
#: Operations that exchange data with the process that compiled them.
_TALKING = frozenset({"stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed"})


class Loaded(NamedTuple):
    """Executable with its module's name and its origin; ``compiled`` describes one that was compiled now."""

    executable: Any
    module: str
    cache: Literal["hit", "miss"]
    made: Made | None = None


def load_or_compile(source: Source, module: Any, devices: tuple[Any, ...], options: Any) -> Loaded:
    """Return the executable of a StableHLO module for the devices that share it, from disk if it is cached.

    Raises jaxlib's error when XLA refuses the module. An interrupt leaves the cache intact.
    """
    folder = current_folder()
    portable = None if folder is None else without_lines(module)
    if folder is None or portable is None:
        return _made(compile_source(source, devices, options))
    base, _, number = source.module.rpartition(".")
    names = _Naming(base, int(number))
    key = key_of(_bytes_of(portable, base), devices[0], options)
    loaded = _load(folder, key, names, devices, options)
    if loaded is not None:
        return Loaded(loaded, names.unique, "hit")
    content = functools.partial(_bytes_of, portable, names.unique)
    portable_source = source._replace(content=content, module=names.unique, identity=lambda: ("kept", key))
    compiled = compile_source(portable_source, devices, options)
    _keep(folder, key, compiled, devices[0])
    return _made(compiled)


def is_kept(module: Any, name: str, device: Any, options: Any) -> bool:
    """Return whether the executable of a module for a device is cached on disk."""
    folder = current_folder()
    portable = None if folder is None else without_lines(module)
    if folder is None or portable is None:
        return False
    return folder.read(key_of(_bytes_of(portable, name.rpartition(".")[0]), device, options)) is not None


def _made(compiled: Made) -> Loaded:
    return Loaded(compiled.executable, compiled.module, "miss", compiled)


def current_folder() -> Folder | None:
    """Return the cache folder that the settings ask for; None when the cache is off."""
    enabled, path = settings.enable_compilation_cache.value, settings.compilation_cache_dir.value
    if enabled is False or (enabled is None and path is None):
        return None
    path_or_default = path or user_folder()
    if path_or_default is None:
        _warn_of_no_home()
        return None
    return _folder(path_or_default)


def without_lines(module: Any) -> Any:
    """Copy a module, keeping its operations' names but no lines; None for one that only this process can run."""
    copy = module.operation.clone()
    needs_this_process = False

    def visit(operation: Any) -> Any:
        nonlocal needs_this_process
        operation.location = bare = _name_only(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(bare)
        needs_this_process = needs_this_process or _is_local(operation)
        return ir.WalkResult.ADVANCE

    copy.walk(visit)
    return None if needs_this_process else copy


def _name_only(location: Any) -> Any:
    if isinstance(location, ir.NameLoc):
        return ir.Location.name(location.name_str, context=location.context)
    if isinstance(location, ir.FileLineColLoc):
        return ir.Location.unknown(location.context)
    return location


def _is_local(operation: Any) -> bool:
    """Return whether an operation calls back into the process that compiled it, by a process-local number."""
    if operation.name == "stablehlo.custom_call":
        return "callback" in operation.attributes["call_target_name"].value.lower()
    return operation.name in _TALKING


def key_of(content: bytes, device: Any, options: Any) -> str:
    """Return the cache key of a module's bytes compiled with ``options`` for a device: 64 hexadecimal digits."""
    digest = hashlib.sha256(surroundings(device).encode())
    digest.update(options.SerializeAsString())  # the serialization sorts the flags of this program
    digest.update(content)
    return digest.hexdigest()


@functools.cache
def surroundings(device: Any) -> str:
    """Return what the compiled result depends on beside the module and the options, as text."""
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
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@functools.cache
def processor() -> str:
    """Return the processor's model and instruction sets, as far as the system reports them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read().split("\n\n")[0]
    except OSError:
        return platform.processor()
    prefixes = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    return "\n".join(line for line in first.splitlines() if line.startswith(prefixes))


def _bytes_of(module: Any, name: str) -> bytes:
    module.attributes["sym_name"] = ir.StringAttr.get(name, module.context)
    return bytecode(module)


class _Naming:
    """Names of one module: the one that is unique in the process, and the placeholder that is stored."""

    def __init__(self, base: str, number: int) -> None:
        self.unique = f"{base}.{number:0{_DIGITS}}"
        self._unique = self.unique.encode()
        self._kept = f"{base}.{_MARK}".encode()

    def to_keep(self, executable: bytes) -> bytes | None:
        """Replace the name by the placeholder for storing; None if it cannot be replaced."""
        if self._unique not in executable or self._kept in executable:
            return None
        return executable.replace(self._unique, self._kept)

    def to_load(self, stored: bytes) -> bytes:
        """Replace the placeholder by the module's name for loading."""
        return stored.replace(self._kept, self._unique)


def _load(folder: Folder, key: str, names: _Naming, devices: tuple[Any, ...], options: Any) -> Any:
    entry = folder.read(key)
    if entry is None:
        return None
    content, device_list = names.to_load(entry.data), devices_list(devices)
    load = devices[0].client.deserialize_executable
    try:
        return uninterrupted(lambda: load(content, device_list, options))
    except (_jax.JaxRuntimeError, ValueError) as error:
        folder.discard(key, f"jaxlib cannot load it ({error})")
        return None


def _keep(folder: Folder, key: str, compiled: Made, device: Any) -> None:
    """Write a compiled executable to the folder, if the settings allow it and the platform can serialize it."""
    if compiled.seconds < settings.persistent_cache_min_compile_time_secs.value:
        return
    base, _, number = compiled.module.rpartition(".")
    try:
        data = _Naming(base, int(number)).to_keep(device.client.serialize_executable(compiled.executable))
    except _jax.JaxRuntimeError as error:
        _warn_of_platform(device.platform, str(error))
        return
    if data is not None and len(data) >= settings.persistent_cache_min_entry_size_bytes.value:
        facts = {"module": compiled.module, "seconds": compiled.seconds, "device": device.device_kind}
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
