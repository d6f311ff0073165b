"""Compiled programs kept on disk: when one is loaded, when it must not be, and what the loaded one knows."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxlib import lapack, xla_client
from jaxlib.mlir import ir

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.ir.avals import make_aval
from xlascope.readers.profiles import read_profile
from xlascope.runtime.jaxlib_differences import result_handler
from xlascope.settings import setting
from xlascope.xla.cache import persistent_cache
from xlascope.xla.cache.background_compilation import CompilationSource
from xlascope.xla.compilation.compile_request import CompileRequest
from xlascope.xla.devices.backend import default_device
from xlascope.xla.devices.xla_options import compile_options
from xlascope.xla.execution.executables import find_or_compile
from xlascope.xla.execution.placement import Placement
from xlascope.xla.mlir.builder import bytecode, context
from xlascope.xla.profiling.profiler_windows import Window
from xlascope.xla.sharding.single_device import single_device_sharding

PROGRAM = Path(__file__).with_name("cached_program.py")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The cache is on, in a folder that is not there yet."""
    with setting("compilation_cache_dir", tmp_path / "cache"):
        yield tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.executable"))


def compiled(function: Callable[..., Any], *args: Any, **options: Any) -> records.Compiled:
    """The record of compiling a function, as if it had never been seen in this process."""
    seen: list[records.Compiled] = []
    subscription = records.watch(lambda record: seen.append(record) if isinstance(record, records.Compiled) else None)
    try:
        xs.jit(function, **options).lower(*args).compile()
    finally:
        subscription.close()
    (record,) = seen
    return record


def in_a_process(folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    first, second = in_a_process(tmp_path), in_a_process(tmp_path)
    assert set(first["cache"]) == {"miss"}
    assert set(second["cache"]) == {"hit"}
    assert len(first["cache"]) == len(second["cache"]) == len(entries(tmp_path))
    assert second["values"] == first["values"]
    assert second["equations"] == first["equations"]
    assert sum(map(len, first["equations"])) > 10
    assert second["unpickled"] == []
    print(f"compiled in {first['seconds'] * 1e3:.1f} ms, loaded in {second['seconds'] * 1e3:.1f} ms")


KEY = """
from xlascope.xla.devices import backend
from xlascope.xla.compilation import compile_program
from xlascope.xla.cache import persistent_cache
device = backend.default_device()
print(persistent_cache.cache_key(b"module", device, compile_program.compile_options(device)))
"""


def test_the_surroundings_are_part_of_the_key(
    fresh_python: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [fresh_python(KEY), fresh_python(KEY)]
    for name, value in (
        ("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"),
        ("XLASCOPE_NUM_CPU_DEVICES", "2"),
        ("NPROC", "3"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            found.append(fresh_python(KEY))
    assert found[0] == found[1]
    assert len(set(found)) == 4


def test_the_processor_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert persistent_cache.cpu_description()
    device = default_device()
    before = persistent_cache.compilation_environment.__wrapped__(device)
    monkeypatch.setattr(persistent_cache, "cpu_description", lambda: "another one")
    assert persistent_cache.compilation_environment.__wrapped__(device) != before


def test_off_unless_a_setting_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert persistent_cache.current_folder() is None
    assert [compiled(jnp.sin, 1.0).cache for _ in range(2)] == ["miss", "miss"]
    assert list(tmp_path.iterdir()) == []
    with setting("enable_compilation_cache", True):
        assert [compiled(jnp.sin, 1.0).cache for _ in range(2)] == ["miss", "hit"]
    assert len(entries(tmp_path / "xlascope" / "executables")) == 1
    with (
        setting("enable_compilation_cache", False),
        setting("compilation_cache_dir", tmp_path / "other"),
    ):
        assert compiled(jnp.sin, 1.0).cache == "miss"
    assert not (tmp_path / "other").exists()


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.chdir(tmp_path)
    with setting("enable_compilation_cache", True):
        with pytest.warns(UserWarning, match="no home folder"):
            assert compiled(jnp.sin, 1.0).cache == "miss"
        assert compiled(jnp.sin, 1.0).cache == "miss"
    with pytest.raises(ValueError, match="no such home folder"):
        xs.config.update("compilation_cache_dir", "~/cache")
    assert list(tmp_path.iterdir()) == []


def two_matrices(x: Any) -> Any:
    inner = xs.jit(lambda y: jnp.tanh(y) @ y)
    return jnp.sum(inner(inner(x)), axis=0)


def test_a_loaded_program_is_described_like_a_compiled_one(folder: Path) -> None:
    x = jnp.ones((8, 8))
    missed, hit = compiled(two_matrices, x), compiled(two_matrices, x)
    assert (missed.cache, hit.cache) == ("miss", "hit")
    assert missed.module != hit.module
    assert hit.kernels == missed.kernels
    assert {path for kernel in hit.kernels for path in kernel.equations} >= {"0/0", "0/1", "1/0", "1/1", "2"}
    assert (hit.flops, hit.bytes_accessed, hit.memory) == (missed.flops, missed.bytes_accessed, missed.memory)
    body = missed.hlo.splitlines()[1:]
    assert hit.hlo.splitlines()[1:] == body
    assert not [line for line in body if "source_file" in line]
    assert hit.hlo.startswith(f"HloModule {hit.module}")


def test_a_profile_tells_programs_from_one_entry_apart(folder: Path) -> None:
    device = default_device()
    made = []
    for _ in range(3):
        program = xs.make_jaxpr(two_matrices)(np.ones((64, 64), np.float32))
        made.append(find_or_compile(CompileRequest(program), Placement(device, False)).compilation)
    assert [each.cache for each in made] == ["miss", "hit", "hit"]
    x = [jnp.ones((64, 64))]
    with Window() as opened:
        for calls, each in zip((4, 5, 7), made, strict=True):
            for _ in range(calls):
                each.executable.execute_sharded(x, with_tokens=True).consume_token().block_until_ready()
    seen = {each.module: each.observed_calls for each in read_profile(opened.data)}
    assert [seen.get(each.module) for each in made] == [2, 3, 5]  # those between two others are whole for sure


def add(constant: float) -> Callable[[Any], Any]:
    return lambda x: jnp.sin(x) + constant


def named(name: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return jnp.sin(x) + 1.0

    function.__name__ = name
    return function


ONE, TWO = np.ones(3, np.float32), np.ones((3, 1), np.float32)
#: Two compilations that must not be taken for each other: (function, arguments, options of jit).
DIFFERENT = {
    "a constant": ((add(1.0), (ONE,), {}), (add(2.0), (ONE,), {})),
    "an operation": ((jnp.sin, (ONE,), {}), (jnp.cos, (ONE,), {})),
    "the function's name": ((named("f"), (ONE,), {}), (named("g"), (ONE,), {})),
    "a shape": ((add(1.0), (ONE,), {}), (add(1.0), (TWO,), {})),
    "a type": ((add(1.0), (ONE,), {}), (add(1.0), (ONE.astype(np.float16),), {})),
    "donation": ((add(1.0), (ONE,), {}), (add(1.0), (ONE,), {"donate_argnums": 0})),
    "unused operands": ((lambda x, y: x, (ONE, ONE), {}), (lambda x, y: x, (ONE, ONE), {"keep_unused": True})),
    "the equations' paths": ((lambda x: jnp.sin(x) * x, (ONE,), {}), (lambda x: xs.jit(jnp.sin)(x) * x, (ONE,), {})),
    "an option": (
        (add(1.0), (ONE,), {}),
        (add(1.0), (ONE,), {"compiler_options": {"xla_cpu_enable_fast_math": True}}),
    ),
    "an option's value": (
        (add(1.0), (ONE,), {"compiler_options": {"xla_cpu_enable_fast_math": False}}),
        (add(1.0), (ONE,), {"compiler_options": {"xla_cpu_enable_fast_math": True}}),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_is_compiled_and_what_does_not_is_loaded(folder: Path, pair: Any) -> None:
    first, second = pair
    says = [compiled(function, *args, **options).cache for function, args, options in (first, second, second, first)]
    assert says == ["miss", "miss", "hit", "hit"]
    assert len(entries(folder)) == 2


def test_64_bits_are_another_key(folder: Path) -> None:
    says = []
    for wide in (False, True, True, False):
        with setting("enable_x64", wide):
            says.append(compiled(lambda x: jnp.asarray(x) * 2, np.ones(3)).cache)
    assert says == ["miss", "miss", "hit", "hit"]


def test_the_order_of_options_does_not_matter(folder: Path) -> None:
    flags = [
        ("xla_cpu_enable_fast_math", True),
        ("xla_llvm_disable_expensive_passes", True),
        ("xla_cpu_fast_math_x", 1),
    ]
    device = default_device()
    keys = {persistent_cache.cache_key(b"", device, compile_options(device, some)) for some in (flags, flags[::-1])}
    assert len(keys) == 1
    assert keys != {persistent_cache.cache_key(b"", device, compile_options(device, flags[:2]))}
    plain = compile_options(device)
    assert keys != {persistent_cache.cache_key(b"", device, plain)}
    before = persistent_cache.cache_key(b"", device, plain)
    plain.num_replicas = 2
    assert persistent_cache.cache_key(b"", device, plain) != before


SOURCE = """
def function(x):
    carry, _ = xs.lax.scan(lambda c, row: (c + row, c), x[0], x)
    return xs.jit(lambda y: jnp.max(y, axis=0))(jnp.sort(x)) + carry
"""


def test_moving_a_function_changes_nothing(folder: Path) -> None:
    says = []
    for file, above in (("a.py", ""), ("b.py", "# a comment\n\n" * 20), ("a.py", "pass\n")):
        names: dict[str, Any] = {"xs": xs, "jnp": jnp}
        source = above + SOURCE.replace("jnp.max(y", "jnp.max(\n\n        y") if above else SOURCE
        exec(compile(source, file, "exec"), names)
        says.append(compiled(names["function"], np.ones((3, 3), np.float32)).cache)
    assert says == ["miss", "hit", "hit"]


CALLING = """
module @jit_f.7 {{
  func.func public @main(%a: tensor<f32>) -> tensor<f32> {{
    %0 = stablehlo.custom_call @{target}(%a) {{api_version = 4 : i32}} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }}
}}
"""


@pytest.mark.parametrize(
    ("target", "kept"), [("xla_ffi_python_cpu_callback", False), ("xla_python_gpu_callback", False), ("lapack_x", True)]
)
def test_what_calls_back_into_the_process_is_not_kept(target: str, kept: bool) -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.parse(CALLING.format(target=target))
    assert (persistent_cache.strip_source_locations(module) is not None) == kept


LAPACK = """
module @jit_f.7 {
  func.func public @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {
      api_version = 4 : i32, backend_config = {uplo = 76 : ui8},
      operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
      result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]
    } : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
    return %0#0, %0#1 : tensor<2x2xf32>, tensor<i32>
  }
}
"""


def test_a_call_of_a_library_is_found_again(folder: Path) -> None:
    for name, target, version in lapack.registrations()["cpu"]:
        if name == "lapack_spotrf_ffi":
            xla_client.register_custom_call_target(name, target, "cpu", version)
    lapack.prepare_lapack_call("potrf", np.dtype(np.float32))  # finds the library's functions
    with context(), ir.Location.unknown():
        module = ir.Module.parse(LAPACK)
    device = default_device()
    matrix = jnp.asarray(np.array([[4, 2], [2, 10]], np.float32))
    handlers = [
        result_handler(aval, single_device_sharding(device), committed=False)
        for aval in (make_aval((2, 2), np.dtype(np.float32)), make_aval((), np.dtype(np.int32)))
    ]
    for number, outcome in ((1, "miss"), (2, "hit")):
        source = CompilationSource(lambda: bytecode(module), f"jit_f.{number}", lambda: None, number, "f")
        made = persistent_cache.load_or_compile(source, module, (device,), compile_options(device))
        assert made.cache == outcome
        factor, info = made.executable.execute_sharded([matrix]).consume_with_handlers(handlers)
        np.testing.assert_array_equal(np.tril(factor), [[2, 0], [1, 3]])
        assert int(info) == 0


def test_results_after_loading(folder: Path) -> None:
    def function(x: Any, n: int) -> Any:
        return xs.lax.fori_loop(0, n, lambda i, c: jnp.sort(c * 1.5 - i) + jnp.sum(c), x)

    x = np.linspace(-1, 1, 50, dtype=np.float32)
    fresh = [xs.jit(lambda *args: function(*args), donate_argnums=0) for _ in range(2)]
    results = [np.asarray(f(jnp.asarray(x), 7)) for f in fresh]
    assert len(entries(folder)) > 0
    with setting("enable_compilation_cache", False):
        expected = np.asarray(xs.jit(lambda *args: function(*args))(x, 7))
    np.testing.assert_array_equal(results, [expected, expected])


def test_what_is_too_fast_or_too_small_is_not_kept(folder: Path) -> None:
    with setting("persistent_cache_min_compile_time_secs", 1000):
        compiled(jnp.sin, ONE)
    with setting("persistent_cache_min_entry_size_bytes", 10**9):
        compiled(jnp.sin, ONE)
    with setting("compilation_cache_max_size", 100):
        compiled(jnp.sin, ONE)
    assert entries(folder) == []
    with setting("compilation_cache_max_size", -1):
        compiled(jnp.sin, ONE)
    assert len(entries(folder)) == 1


WRONG = {
    "compilation_cache_dir": ["gs://bucket/cache", b"bytes"],
    "compilation_cache_max_size": ["2 GiB", None, True],
    "persistent_cache_min_compile_time_secs": ["soon"],
    "persistent_cache_min_entry_size_bytes": ["1e3", False],
    "enable_compilation_cache": ["maybe", 2],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_settings_refuse_what_they_cannot_be(name: str, value: Any) -> None:
    before = getattr(xs.config, name)
    with pytest.raises(ValueError, match=f"{name} is .*{value!r}"):
        xs.config.update(name, value)
    assert getattr(xs.config, name) == before


def test_settings_from_the_environment(fresh_python: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("XLASCOPE_COMPILATION_CACHE_DIR", "~/here")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_MAX_SIZE", "1000")
    monkeypatch.setenv("XLASCOPE_ENABLE_COMPILATION_CACHE", "on")
    monkeypatch.setenv("XLASCOPE_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "soon")
    program = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    import xlascope as xs
    print(xs.config.compilation_cache_dir, xs.config.jax_compilation_cache_max_size, xs.config.enable_compilation_cache)
for each in caught: print(each.message)
"""
    assert fresh_python(program).splitlines() == [
        f"{Path.home() / 'here'} 1000 True",
        "the environment variable XLASCOPE_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS is ignored: "
        "persistent_cache_min_compile_time_secs is a number (float), not 'soon'",
    ]
