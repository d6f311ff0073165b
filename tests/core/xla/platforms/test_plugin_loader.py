"""Plugins that are here and cannot run: each way in which one comes to grief is one line, and the CPU goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib import version

from xlascope.xla.platforms import hardware_detection, plugin_discovery, plugin_loader, plugin_probe
from xlascope.xla.platforms.plugin_discovery import Plugin, find_library
from xlascope.xla.targets import compiler_install

STAND_INS = {
    "crashing": "void *GetPjrtApi(void) { abort(); }",
    "hanging": "void *GetPjrtApi(void) { for (;;) sleep(1); }",
    "of no version": "static char api[4096]; void *GetPjrtApi(void) { return api; }",
    "talkative": 'void *GetPjrtApi(void) { fprintf(stderr, "much to say\\n"); _exit(7); }',
}

#: Where the compilers of targets are, before tests have a cache folder of their own.
COMPILERS = [str(found) for name in ("gpu", "tpu") if (found := compiler_install.compiler_folder(name)) is not None]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial found is kept for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def plugin_at(library: Path) -> Plugin:
    return Plugin("gpu", "stand_in", library, "stand-in-pjrt", version.__version__)


def compiled(name: str, folder: Path) -> Path:
    """A stand-in for a plugin, by the C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler, which makes stand-ins for plugins")
    source = folder / "plugin.c"
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n" + STAND_INS[name] + "\n")
    made = folder / "plugin.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crashing", "it ended the process that tried it (signal 6)"),
        ("hanging", "it did not start within 3 s"),
        ("of no version", "version"),
        ("talkative", "it ended the process that tried it (exit status 7), saying: much to say"),
    ],
)
def test_a_plugin_that_comes_to_grief_takes_only_its_trial_along(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = plugin_at(compiled(name, tmp_path))
    if name == "hanging":  # nobody waits for all of the usual limit here
        monkeypatch.setitem(plugin_probe.probe_plugin.__kwdefaults__, "timeout", 3.0)
    found = plugin_probe.probe_plugin(plugin)
    assert found is not None and reason in found
    again = plugin_probe.probe_plugin(plugin, timeout=0.001)
    assert again == (found if name == "crashing" else "it did not start within 0.001 s"), (
        "a crash is kept, and that alone"
    )
    assert plugin_probe.probe_plugin(plugin, timeout=0.001, force_probe=True) == "it did not start within 0.001 s"
    with pytest.raises(plugin_loader.PluginError) as raised:
        plugin_loader.start_plugin(plugin)
    assert "\n" not in str(raised.value) and str(raised.value).startswith("stand-in-pjrt")


def test_what_is_no_plugin(tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library\n" * 100)
    other = Path(version.__file__).with_name("utils.so")
    for library, words in ((text, "invalid ELF header"), (other, "GetPjrtApi"), (tmp_path / "gone.so", "gone.so")):
        found = plugin_probe.probe_plugin(plugin_at(library))
        assert found is not None and words in found


def test_a_plugin_of_another_version_is_not_tried() -> None:
    old = Plugin("gpu", "cuda", Path("gone.so"), "jax-cuda13-pjrt", "0.9.1")
    with pytest.raises(plugin_loader.PluginError, match=r"belongs to jaxlib 0\.9\.1, and this is jaxlib"):
        plugin_loader.start_plugin(old)


def test_reasons_come_with_what_to_do() -> None:
    plugin = plugin_at(Path("plugin.so"))
    said = plugin_loader.format_reason(plugin, "INTERNAL: the TPU is already in use by\nprocess 17")
    assert said.endswith("(one process at a time can have the TPU: end the other one, a notebook's kernel perhaps)")
    assert "\n" not in said


def test_hardware_is_told_by_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, vendor, kind in (
        ("one", "0x1ae0", "0x0063"),
        ("other", "0x1ae0", "0x0042"),
        ("third", "0x10de", "0x0063"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(vendor + "\n")
        (tmp_path / name / "device").write_text(kind + "\n")
    assert (
        hardware_detection.count_tpu_chips(tmp_path) == 1 and hardware_detection.count_tpu_chips(tmp_path / "none") == 0
    )
    driver = tmp_path / "proc"
    driver.write_text("NVRM version: 580.65\n")
    assert hardware_detection.nvidia_driver((tmp_path / "gone", driver)) is not None
    assert hardware_detection.nvidia_driver((tmp_path / "gone",)) is None
    monkeypatch.setattr(hardware_detection, "nvidia_driver", lambda: "")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert hardware_detection.is_hardware_present("gpu")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert not hardware_detection.is_hardware_present("gpu")


REAL = """
import sys, xlascope as xs, xlascope.numpy as jnp
from xlascope.xla.platforms import hardware_detection
hardware_detection.is_hardware_present = lambda platform: platform == sys.argv[1]  # as if such hardware were here
print(jnp.ones(3) + 1.0, xs.default_backend(), "jax" in sys.modules)
try:
    xs.devices(sys.argv[1])
except RuntimeError as error:
    print(error)
"""


@pytest.fixture
def installed_plugins(monkeypatch: pytest.MonkeyPatch, target_compilers: None) -> None:
    """The compilers of targets as plugins that are installed, here and in processes of their own."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*COMPILERS, os.environ.get("PYTHONPATH", "")]))
    for folder in COMPILERS:
        monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("installed_plugins")
@pytest.mark.parametrize(
    ("platform", "reason"),
    [
        ("gpu", "the GPU cannot be used: jax-cuda13-pjrt 0.* (no GPU is visible to this process: "),
        ("tpu", "the TPU cannot be used: libtpu 0.* (no TPU is here)"),
    ],
)
def test_the_real_plugins_without_their_hardware_say_one_line(platform: str, reason: str) -> None:
    if hardware_detection.is_hardware_present(platform):
        pytest.skip(f"there is a {platform} here")
    quiet = {name: value for name, value in os.environ.items() if name not in ("JAX_PLATFORMS", "XLASCOPE_PLATFORMS")}
    done = subprocess.run(
        [sys.executable, "-c", REAL, platform], env=quiet, capture_output=True, text=True, timeout=300, check=True
    )
    computed, error = done.stdout.splitlines()
    assert computed == "[2. 2. 2.] cpu False"
    before, after = reason.split("*")
    assert error.startswith(before) and after in error
    (warning,) = done.stderr.splitlines()
    assert warning == f"{error}; programs run elsewhere. XLASCOPE_PLATFORMS=cpu says that this is meant"


@pytest.mark.parametrize("named", ["tpu", "cuda,cpu"])
@pytest.mark.usefixtures("installed_plugins")
def test_what_is_named_has_to_start(named: str) -> None:
    program = "import xlascope.numpy as jnp\ntry:\n    jnp.ones(3)\nexcept RuntimeError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"XLASCOPE_PLATFORMS": named},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "cannot be used" in done.stdout and done.stdout.count("\n") == 1 and not done.stderr


def test_what_is_not_named_is_not_started() -> None:
    program = "import xlascope as xs\ntry:\n    xs.devices('tpu')\nexcept RuntimeError as error:\n    print(error)"
    named = os.environ | {"XLASCOPE_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], env=named, capture_output=True, text=True, check=True)
    problem, fix, place = done.stdout.splitlines()
    assert problem == "there is no backend named 'tpu': the setting platforms names cpu alone."
    assert fix.startswith("Write devices() or devices('cpu'), or name tpu in the setting") and place.startswith("At ")


@pytest.mark.usefixtures("installed_plugins")
def test_plugins_are_found_without_importing_them() -> None:
    for platform in ("gpu", "tpu"):
        (found,) = plugin_discovery.find_installed(platform)
        assert found.library.exists() and found.version
    assert "jax_plugins.xla_cuda13" not in sys.modules
    assert find_library("no_such_package.at_all", "x.so") is None and plugin_discovery.find_installed("abacus") == []


def test_a_start_that_went_well_is_kept_and_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = tmp_path / "tries"
    starter = tmp_path / "starter.py"
    starter.write_text(f"open({str(tries)!r}, 'a').write('x')\n")
    monkeypatch.setattr(plugin_probe, "_STARTER_SCRIPT", starter)
    plugin = plugin_at(tmp_path / "plugin.so")
    assert [plugin_probe.probe_plugin(plugin) for _ in range(3)] == [None, None, None]
    assert tries.read_text() == "x"
    assert plugin_probe.probe_plugin(plugin._replace(version="0.0.1")) is None and tries.read_text() == "xx", (
        "another plugin"
    )


def test_a_reason_that_may_be_gone_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starter = tmp_path / "starter.py"
    monkeypatch.setattr(plugin_probe, "_STARTER_SCRIPT", starter)
    starter.write_text("print('The TPU is already in use by process 17')\nraise SystemExit(1)\n")
    plugin = plugin_at(tmp_path / "plugin.so")
    assert plugin_probe.probe_plugin(plugin) == "The TPU is already in use by process 17"
    starter.write_text("")
    assert plugin_probe.probe_plugin(plugin) is None
