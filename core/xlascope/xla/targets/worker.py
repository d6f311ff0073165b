"""What runs in the compiler's own process: reads a program, compiles it for a target, writes back what came of it.

Started by :mod:`.process` as a file, so that nothing of the engine is loaded here: jaxlib and one plugin. The plugins
print, and may abort: both are this process's affair. It ends when the one that started it closes the pipe.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import threading
from typing import Any

import numpy as np
from jaxlib import _jax, utils, weakref_lru_cache, xla_client  # noqa: F401  (the import order is jaxlib's)
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


def main() -> None:
    """Answer the one request that comes in; what the plugins print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    asked = json.loads(requests.readline())
    module = requests.read(asked["module"])
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    _limit(asked["memory"])

    def tell(**what: Any) -> None:
        answers.write(json.dumps(what).encode() + b"\n")
        answers.flush()

    try:
        tell(stage="loading the compiler")
        with _context():
            parsed = ir.Module.parse(module)
        devices = _devices(asked, _partitions(parsed))
        if b"lapack_" in module and devices[0].platform == "cpu":
            _know_lapack()
        tell(stage="compiling")
        made = _compile(devices, parsed, asked)
        tell(stage="reading what it made")
        _answer(made, answers, tell, asked["plan"])
    except Exception as error:
        tell(error=str(error), kind=type(error).__name__)
    answers.flush()
    os._exit(0)  # the plugins' own ends take time and may abort


def _answer(made: Any, answers: Any, tell: Any, plan: bool) -> None:
    module = made.hlo_modules()[0]
    stats = _attempt(made.get_compiled_memory_stats)
    buffers = getattr(stats, "serialized_buffer_assignment_proto", b"") if plan else b""
    parts = [module.to_string().encode(), buffers, module.as_serialized_hlo_module_proto() if buffers else b""]
    tell(
        name=module.name,
        sizes=[len(part) for part in parts],
        cost=_cost(made),
        analysis=_attempt(lambda: dict(_jax.hlo_module_cost_analysis(xla_client.make_cpu_client(), module))),
        memory=None if stats is None else _memory(stats),
    )
    for part in parts:
        answers.write(part)


def _know_lapack() -> None:
    """XLA compiles calls of functions that it knows; nothing is run here, so LAPACK itself need not be loaded."""
    lapack = importlib.import_module("jaxlib.lapack")
    for name, target, version in lapack.registrations()["cpu"]:
        xla_client.register_custom_call_target(name, target, platform="cpu", api_version=version)


def _end_with(requests: Any) -> None:
    """End when the other side is gone, or does not want the answer any more."""
    requests.read(1)
    os._exit(1)


def _limit(memory: int) -> None:
    """Bytes of private memory that this process may have, and no core dumps; where the system takes such limits."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _partitions(module: Any) -> int:
    """How many devices share the program."""
    attributes = module.operation.attributes
    return int(attributes["mhlo.num_partitions"].value) if "mhlo.num_partitions" in attributes else 1


def _devices(asked: dict[str, Any], count: int) -> list[Any]:
    if asked["platform"] == "cpu":
        found = xla_client.make_cpu_client(num_devices=count).local_devices()
    else:
        found = _topology(asked, count)._make_compile_only_devices()
    if len(found) < count:
        raise ValueError(f"{count} devices share the program, and the target has {len(found)}")
    return list(found[:count])


def _compile(devices: list[Any], module: Any, asked: dict[str, Any]) -> Any:
    listed, options, client = _jax.DeviceList(tuple(devices)), _options(devices, asked["overrides"]), devices[0].client
    if asked["platform"] != "cpu":
        return client.compile(module, listed, options)
    functions = [_nothing] * asked.get("callbacks", 0)  # never called: nothing is run here
    return client.compile_and_load(module, listed, options, functions)


def _nothing(*_: Any) -> tuple[()]:
    return ()


def _topology(asked: dict[str, Any], count: int) -> Any:
    if asked["platform"] == "tpu":
        xla_client.load_pjrt_plugin_dynamically("tpu", asked["plugin"])
        xla_client.initialize_pjrt_plugin("tpu")
        alone = asked["description"].endswith(":1x1")  # a chip by itself is not what one host has
        bounds = {"chips_per_host_bounds": [1, 1, 1]} if alone else {}
        return xla_client.make_tfrt_tpu_c_api_device_topology(asked["description"], **bounds)
    api = xla_client.load_pjrt_plugin_dynamically("cuda", asked["plugin"])
    return xla_client.make_c_api_device_topology(
        api, asked["name"], topology=f"1x1x{count}", target_config=asked["description"]
    )


def _context() -> Any:
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def _options(devices: list[Any], overrides: list[list[Any]]) -> Any:
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = len(devices)
    if len(devices) > 1:
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        build.allow_spmd_sharding_propagation_to_output = [True]
    assignment = xla_client.DeviceAssignment.create(np.array([[each.id for each in devices]], np.int32))
    options.device_assignment = build.device_assignment = assignment
    options.env_option_overrides = [(name, value) for name, value in overrides]
    return options


def _cost(made: Any) -> dict[str, float] | None:
    found = _attempt(made.cost_analysis)
    return dict(found[0] if isinstance(found, list) else found) if found else None


def _memory(stats: Any) -> dict[str, int]:
    return {
        "arguments": stats.argument_size_in_bytes,
        "outputs": stats.output_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes,
        "peak": getattr(stats, "peak_memory_in_bytes", 0),
    }


def _attempt(question: Any) -> Any:
    """What a compiler answers, None where it does not implement the question."""
    try:
        return question()
    except Exception:
        return None


if __name__ == "__main__":
    utils.absl_set_min_log_level(0 if "TF_CPP_VMODULE" in os.environ else 1)  # asked to speak, it may
    main()
