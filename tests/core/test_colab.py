"""What a notebook on Colab begins with: a TPU or the words for one that is missing, and a jaxlib that fits.

No Colab is here: `google.colab`, TPUs and old jaxlibs are stand-ins, in interpreters of their own.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from xlascope.runtime import supported_jaxlibs, version_check
from xlascope.tools import colab_tpu


def _tpu(number: int) -> SimpleNamespace:
    return SimpleNamespace(platform="tpu", id=number, device_kind="TPU v5 lite")


def test_with_a_tpu_one_line_says_which(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(colab_tpu, "devices", lambda platform=None: [_tpu(0), _tpu(1)])
    monkeypatch.setattr(colab_tpu, "default_backend", lambda: "tpu")
    assert colab_tpu.setup_tpu() is None  # type: ignore[func-returns-value]
    colab_tpu.setup_tpu()
    assert capsys.readouterr().out.splitlines() == ["2 TPU devices (TPU v5 lite): tpu:0, tpu:1"] * 2


def test_a_tpu_that_programs_do_not_run_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(colab_tpu, "devices", lambda platform=None: [_tpu(0)])
    colab_tpu.setup_tpu()
    assert "programs run on cpu all the same" in capsys.readouterr().out


COLAB = {"google.colab": SimpleNamespace()}


@pytest.mark.parametrize(
    ("modules", "environment", "chips", "words"),
    [
        ({}, {}, 0, "This is not Colab"),
        (COLAB, {}, 0, "Choose Runtime → Change runtime type → v5e-1 TPU"),
        ({}, {"COLAB_RELEASE_TAG": "release-colab"}, 0, "Choose Runtime → Change runtime type → v5e-1 TPU"),
        (COLAB, {"COLAB_TPU_ADDR": "10.0.0.2:8470"}, 0, "of a kind that is gone"),
        (COLAB, {}, 4, "The machine has 4 TPU chips, and none can be used: there is no backend named 'tpu'"),
    ],
)
def test_without_a_tpu_the_error_names_what_is_there_and_what_to_do(
    modules: dict[str, object],
    environment: dict[str, str],
    chips: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def devices(platform: str | None = None) -> list[SimpleNamespace]:
        if platform == "tpu":
            raise RuntimeError("there is no backend named 'tpu'; those here are cpu, gpu")
        return [SimpleNamespace(platform="gpu", id=0, device_kind="Tesla T4")]

    for name in ("COLAB_RELEASE_TAG", "COLAB_TPU_ADDR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name, module in modules.items():
        monkeypatch.setitem(colab_tpu.sys.modules, name, module)
    monkeypatch.setattr(colab_tpu, "devices", devices)
    monkeypatch.setattr(colab_tpu, "count_tpu_chips", lambda: chips)
    with pytest.raises(RuntimeError) as told:
        colab_tpu.setup_tpu()
    assert str(told.value).startswith("no TPU here; programs run on 1 GPU device (Tesla T4). ")
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("loaded", "installed", "words"),
    [
        ("0.10.2", "0.10.2", None),
        ("0.10.2", None, None),
        ("0.12.0.1", "0.12.0.1", None),
        ("0.7.2", "0.11.2", "jaxlib 0.11.2 is installed, and this process has loaded jaxlib 0.7.2"),
        ("0.11.2", "0.10.2", "jaxlib 0.10.2 is installed, and this process has loaded jaxlib 0.11.2"),
        ("0.7.2", "0.7.2", "here is jaxlib 0.7.2 (from /there)"),
        ("0.7.2", None, f'pip install --upgrade xlascope "{supported_jaxlibs.tested_requirement()}"'),
    ],
)
def test_a_jaxlib_is_told_of_where_it_does_not_fit(loaded: str, installed: str | None, words: str | None) -> None:
    found = version_check.explain_mismatch(loaded, installed) or version_check.find_problem(loaded, Path("/there"))
    assert found is None if words is None else words in str(found)


_TOLD = """
import sys, types
sys.path.insert(0, {folder!r})
sys.modules.update({modules})
{before}
try:
    {program}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("modules", "before", "program", "words"),
    [
        # Colab's jaxlib was loaded by a cell, then `%pip install xlascope` put another one in its place.
        ("{'google.colab': types}", "import jaxlib", "import xlascope", "Restart the runtime: Runtime → Restart"),
        ("{'ipykernel': types}", "import jaxlib", "import xlascope", "Kernel → Restart Kernel (or run IPython."),
        ("{}", "import jaxlib", "import xlascope", "Start Python again, and run the cells again"),
        # It was not loaded before, but is first on the path.
        ("{}", "jaxlib = None", "import xlascope; xlascope.jit(lambda x: x)(1)", "here is jaxlib 0.7.2"),
    ],
)
def test_a_process_with_an_old_jaxlib_is_told_to_restart(
    modules: str, before: str, program: str, words: str, tmp_path: Path, fresh_python: Callable[[str], str]
) -> None:
    (tmp_path / "jaxlib").mkdir()
    (tmp_path / "jaxlib/__init__.py").write_text('__version__ = "0.7.2"\n')
    if before == "import jaxlib":  # the files are those of the new one by now
        (tmp_path / "jaxlib-0.11.2.dist-info").mkdir()
        (tmp_path / "jaxlib-0.11.2.dist-info/METADATA").write_text("Name: jaxlib\nVersion: 0.11.2\n")
    said = fresh_python(_TOLD.format(folder=str(tmp_path), modules=modules, before=before, program=program))
    assert words in said
    assert len(said.splitlines()) == 1


def test_beside_a_jaxlib_that_fits_nothing_is_said(fresh_python: Callable[[str], str]) -> None:
    assert fresh_python("import jaxlib, xlascope; print(xlascope.__name__)") == "xlascope\n"
