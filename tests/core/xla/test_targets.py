"""Programs compiled by the compilers of TPUs and GPUs that are not here.

Those that compile need the compilers (`make .venv/.installed-targets`): without them they are skipped, in CI they fail.
"""

import contextlib
import fcntl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from jaxlib import version

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.__main__ import main
from xlascope.inspect.jobs import Cancelled
from xlascope.inspect.producers import call, program_of
from xlascope.records import Compiled
from xlascope.tools import targets as targets_tool
from xlascope.xla.platforms import plugin_discovery
from xlascope.xla.targets import (
    INSTALL_COMMAND,
    CompileProgress,
    MissingTargetError,
    NoLoweringError,
    TargetCompileError,
    UnknownTargetError,
    compile_for_target,
    compile_input,
    compiler_install,
    compiler_process,
    find_plugin,
    find_target,
    known_targets,
)
from xlascope.xla.targets.gpu_specs import GPUS
from xlascope.xla.targets.tpu_specs import TPUS

needs_compilers = pytest.mark.usefixtures("target_compilers")


def program(a: Any, b: Any) -> Any:
    return jnp.tanh(a @ b).sum(0)


A, B = np.ones((512, 256), np.float32), np.ones((256, 512), np.float32)


def prepared(function: Any, *args: Any, target: str, **more: Any) -> Any:
    given = program_of(call(function, *args)).input_for(find_target(target))
    return given._replace(**more)


def compiled(function: Any, *args: Any, target: str, **more: Any) -> Compiled:
    return compile_input(prepared(function, *args, target=target, **more))


# Names and figures ---------------------------------------------------------------------------------------------------


def test_every_target_the_issue_names_is_there() -> None:
    assert {"cpu", "tpu:v5e:2x2", "gpu:h100", "gpu:a100", "gpu:l4", "gpu:b200"} <= set(known_targets())
    assert {name.split(":")[1] for name in known_targets() if name.startswith("tpu")} == {"v4", "v5e", "v5p", "v6e"}


@pytest.mark.parametrize("name", ["gpu:h900", "", "tpu", "v5e", "cuda", None, "gpu:h100:1x1"])
def test_an_unknown_target_lists_the_known_ones(name: Any) -> None:
    with pytest.raises(UnknownTargetError, match=r"the targets are cpu, tpu:v5e:2x2, .*gpu:b200"):
        find_target(name)


def test_names_are_read_as_people_write_them() -> None:
    assert find_target(" GPU:H100 ").name == "gpu:h100"
    assert find_target("tpu:v5e").name == "tpu:v5e:2x2"
    assert find_target("tpu:v4").name == "tpu:v4:2x2x1"


#: Boost clocks in GHz and dense BF16 peaks in TFLOPS, as NVIDIA's documents give them.
BOOST = {"h100": (1.98, 989.4), "a100": (1.41, 312), "l4": (2.04, 121), "b200": (1.965, 2250)}


@pytest.mark.parametrize("name", sorted(GPUS))
def test_the_figures_of_a_gpu_agree_with_each_other(name: str) -> None:
    gpu, (boost, bf16) = GPUS[name], BOOST[name]
    assert gpu.figures["clock_rate_ghz"].value == pytest.approx(boost, rel=0.02)  # it was derived from other figures
    assert gpu.chip.peaks["bfloat16"].value == bf16 * 1e12
    assert gpu.chip.peaks["float32"].value < gpu.chip.peaks["bfloat16"].value


@pytest.mark.parametrize("name", sorted(GPUS))
def test_every_figure_has_a_source(name: str) -> None:
    chip = GPUS[name].chip
    figures = [*GPUS[name].figures.values(), chip.bandwidth, chip.memory, chip.vector, *chip.peaks.values()]
    assert all(figure is not None and figure.value > 0 and len(figure.source) > 10 for figure in figures)


def test_every_tpu_has_figures() -> None:
    chips = {name: find_target(name).chip for name in known_targets() if name.startswith("tpu")}
    assert all(chip is TPUS[name.split(":")[1]] for name, chip in chips.items())


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    none = {"gpu": (("no_such_plugin.at_all", "x.so", "none"),), "tpu": (("json", "x.so", "json"),)}
    monkeypatch.setattr(plugin_discovery, "_PLUGIN_PACKAGES", none)
    for target in ("gpu:h100", "tpu:v5e"):
        with pytest.raises(MissingTargetError, match=f"install it with: {INSTALL_COMMAND}"):
            find_plugin(find_target(target))


def test_a_compiler_lies_where_jax_does_not_find_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = compiler_install.compiler_folder("tpu")
    assert folder is not None and version.__version__ in str(folder) and not any(map(str(folder).startswith, sys.path))
    library = folder / "libtpu/libtpu.so"
    library.parent.mkdir(parents=True)
    library.write_text("")
    (folder / "libtpu-1.2.dist-info").mkdir()
    (folder / "libtpu-1.2.dist-info/METADATA").write_text("Name: libtpu\nVersion: 1.2\n")
    found = compiler_install.find_compiler("tpu")
    assert found is not None and (found.library, found.version) == (library, "1.2")
    assert find_plugin(find_target("tpu:v5e")) == library and compiler_install.install_compiler("tpu") == found
    library.chmod(0o666)
    with pytest.raises(MissingTargetError, match="may be written by everybody; forbid it"):
        find_plugin(find_target("tpu:v5e"))


def test_an_installation_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(
        compiler_install, "_installer_command", lambda *_: [sys.executable, "-c", "raise SystemExit('no index')"]
    )
    with pytest.raises(compiler_install.InstallError, match=r"no index \(the command was .*jax-cuda13-pjrt=="):
        compiler_install.install_compiler("gpu")
    monkeypatch.setattr(compiler_install, "_installer_command", lambda *_: [sys.executable, "-c", "pass"])
    with pytest.raises(compiler_install.InstallError, match="has no compiler for a GPU"):
        compiler_install.install_compiler("gpu")
    assert not [each for each in tmp_path.rglob("*") if each.is_file() or each.name.startswith("gpu")]


def test_without_pip_and_uv_the_command_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiler_install.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler_install.shutil, "which", lambda name: None)
    with pytest.raises(
        compiler_install.InstallError, match=r"by hand: pip install --no-deps --target .*/gpu \"jax-cuda13"
    ):
        compiler_install.install_compiler("gpu")


def test_a_terminal_lists_the_compilers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(targets_tool, "find_compiler", lambda platform: None)
    assert main(["targets"]) == 0
    assert capsys.readouterr().out == f"gpu: not here: {INSTALL_COMMAND}\ntpu: not here: {INSTALL_COMMAND}\n"


@pytest.mark.usefixtures("target_compilers")
def test_jax_does_not_notice_the_compilers(fresh_python: Callable[[str], str]) -> None:
    """It prints a traceback for a plugin that it finds and that has no device."""
    program = "import contextlib, io, sys; sys.stderr = sys.stdout; import jax; print(jax.devices())"
    assert fresh_python(program).startswith("[CpuDevice(id=0)") and fresh_python(program).count("\n") == 1


# What cannot be compiled ---------------------------------------------------------------------------------------------


def with_callback(x: Any) -> Any:
    return xs.pure_callback(np.sin, xs.ShapeDtypeStruct((4,), np.float32), x)


@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_a_program_that_calls_python_has_no_target(target: str) -> None:
    with pytest.raises(NoLoweringError, match=f"with_callback cannot be compiled for {target}.*calls Python"):
        prepared(with_callback, np.ones(4, np.float32), target=target)


# Real compilations ---------------------------------------------------------------------------------------------------


@needs_compilers
@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e:2x2"])
def test_a_program_becomes_kernels(target: str) -> None:
    found = compiled(program, A, B, target=target)
    paths = {path for kernel in found.kernels for path in kernel.equations}
    assert paths == {"0", "1", "2"}
    assert (found.target, found.platform) == (target, "cuda" if "gpu" in target else "tpu")
    assert found.memory is not None
    assert found.memory.arguments == A.nbytes + B.nbytes
    assert found.memory.outputs == 512 * 4
    assert found.flops == pytest.approx(2 * 512 * 512 * 256, rel=0.01)
    assert found.estimated_seconds is not None
    assert 1e-7 < found.estimated_seconds < 1e-4


@needs_compilers
def test_what_a_gpu_is_told_of_its_kernels() -> None:
    product, total = compiled(program, A, B, target="gpu:h100").kernels
    assert (product.kind, total.kind) == ("custom", "input")
    assert "threads" in product.launch and "threads" in total.launch
    moved = product.bytes_read + product.bytes_written
    assert product.estimated_seconds == pytest.approx(moved / 3.35e12)  # bound by memory
    assert "roofline estimate" in compiled(program, A, B, target="gpu:h100").estimated_by


@needs_compilers
def test_what_a_tpu_is_told_of_its_kernels() -> None:
    found = compiled(program, A, B, target="tpu:v5e:2x2")
    (fusion,) = (kernel for kernel in found.kernels if kernel.opcode == "fusion")
    assert (fusion.kind, fusion.equations) == ("output", ("0", "1", "2"))
    assert "T(" in fusion.layout
    assert fusion.estimated_cycles is not None and fusion.estimated_cycles > 1000
    assert "TPU compiler" in found.estimated_by


@needs_compilers
def test_our_count_of_operations_is_near_the_compilers() -> None:
    def loss(w: Any, x: Any) -> Any:
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    arguments = np.ones((256, 128), np.float32), np.ones((64, 256), np.float32)
    found = compiled(xs.value_and_grad(loss), *arguments, target="gpu:h100")
    products = 2 * (2 * 64 * 256 * 128)  # forward and for w
    assert found.flops == pytest.approx(products, rel=0.05)


@needs_compilers
@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in known_targets() if name not in ("cpu", "gpu:h100", "tpu:v5e:2x2")])
def test_every_target_compiles(target: str) -> None:
    found = compiled(program, A, B, target=target)
    assert {path for kernel in found.kernels for path in kernel.equations} == {"0", "1", "2"}


@needs_compilers
def test_what_the_compiler_refuses_is_said_in_its_words() -> None:
    with pytest.raises(TargetCompileError, match=r"the compiler for gpu:h100 refuses the program: .*xla_nonsense"):
        compiled(program, A, B, target="gpu:h100", overrides=[("xla_nonsense", "1")])


@needs_compilers
def test_options_reach_the_compiler() -> None:
    def fused(x: Any) -> Any:
        return jnp.sin(x) * 2.0 + x

    x = np.ones(1000, np.float32)
    assert len(compiled(fused, x, target="gpu:h100").kernels) == 1
    apart = compiled(fused, x, target="gpu:h100", overrides=[("xla_disable_hlo_passes", "priority-fusion")])
    assert len(apart.kernels) > 1


# The process ---------------------------------------------------------------------------------------------------------

QUIET = """
import numpy as np, os, time
import xlascope as xs, xlascope.numpy as jnp
before = dict(os.environ)
began = time.perf_counter()
found = xs.inspect.targets(lambda x: jnp.tanh(x @ x), np.ones((64, 64), np.float32), targets=["gpu:h100", "tpu:v5e"])
assert len(found.records) == 3
assert time.perf_counter() - began < 60, "something waited for the network"
assert dict(os.environ) == before
"""


@needs_compilers
def test_nothing_is_printed_and_nothing_waited_for(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", QUIET], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    assert list(tmp_path.iterdir()) == []


@needs_compilers
def test_a_tpu_that_is_in_use_is_left_alone() -> None:
    lock = Path("/tmp/libtpu_lockfile")
    with lock.open("a") as held:
        with contextlib.suppress(BlockingIOError):  # somebody has it already: as good
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as a program does that has the machine's TPU
        assert compiled(program, A, B, target="tpu:v5e").kernels


@needs_compilers
def test_a_compiler_without_memory_is_an_error_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_process, "_memory_limit", lambda: 150 * 2**20)
    with pytest.raises(TargetCompileError, match=r"the compiler for gpu:h100 (was ended by SIG|ended with|refuses)"):
        compiled(program, A, B, target="gpu:h100")


@needs_compilers
def test_a_compiler_that_takes_too_long_is_stopped() -> None:
    asked = prepared(program, A, B, target="tpu:v5e")
    with pytest.raises(TimeoutError, match=r"tpu:v5e:2x2 took longer than 0.2 s"):
        compile_for_target(asked.target, asked.module, seconds=0.2)


@needs_compilers
def test_a_job_tells_what_it_does_and_can_be_cancelled() -> None:
    told: list[str] = []
    compiling = threading.Event()

    def changed(job: Any) -> None:
        told.append(job.message)
        if job.message == "compiling":
            compiling.set()

    job = xs.inspect.target(program, A, B, target="gpu:l4", background=True)
    job.on_change(changed)
    assert compiling.wait(60)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(10)
    assert job.state == "cancelled"
    assert {"loading the compiler", "compiling"} <= set(told)
    assert workers() == []


@needs_compilers
def test_an_interrupt_ends_the_compiler() -> None:
    asked = prepared(program, A, B, target="tpu:v5e")

    def interrupt(message: str) -> None:
        if message == "compiling":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_input(asked, CompileProgress(interrupt, lambda stop: None))
    assert workers() == []


@needs_compilers
def test_the_compiler_ends_with_whoever_asked_it(tmp_path: Path) -> None:
    ask = f"""
import os, signal
from xlascope.xla.platforms import plugin_discovery
from xlascope.xla.targets import CompileProgress, compile_for_target, find_target
def tell(message):
    if message == "compiling":
        os.kill(os.getpid(), signal.SIGKILL)
module = open({str(tmp_path / "module")!r}, "rb").read()
compile_for_target(find_target("tpu:v5e"), module, watch=CompileProgress(tell, lambda stop: None))
"""
    (tmp_path / "module").write_bytes(prepared(program, A, B, target="tpu:v5e").module)
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, timeout=60)
    assert done.returncode == -9
    assert eventually(lambda: not any(str(compiler_process._WORKER) in " ".join(command) for command in commands()))


def workers() -> list[psutil.Process]:
    return [
        each for each in psutil.Process().children(recursive=True) if str(compiler_process._WORKER) in each.cmdline()
    ]


def commands() -> list[list[str]]:
    return [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline", "ppid"]) if each.info["ppid"] == 1]


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
