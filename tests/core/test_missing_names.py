"""Names that are not there: what jax has, what is left out for good, what was meant."""

import importlib
import importlib.util
import subprocess
import sys

import pytest
from tests import public_names

import xlascope as xs
import xlascope.debug
import xlascope.experimental
import xlascope.random
import xlascope.tree_util
from xlascope import missing
from xlascope.missing import UNSUPPORTED_NAMES, names_of_jax

PALLAS = "jax's .*pallas is left out for good, because kernels written by hand .* xlascope.inspect"
NOT_YET = "jax's {} is not in xlascope yet. .*beside_jax.md"

ATTRIBUTES = {
    ("xlascope", "pallas"): PALLAS,
    ("xlascope.experimental", "pallas"): PALLAS,
    ("xlascope.numpy", "fromfile"): "left out for good, because jax only says that it has none; use numpy.fromfile",
    **{
        (f"xlascope{room}", "of_tomorrow"): NOT_YET.format(f"{room}.of_tomorrow".lstrip("."))
        for room in ("", ".numpy", ".numpy.linalg", ".lax", ".random", ".nn", ".experimental", ".errors")
    },
    ("xlascope.debug", "breakpoint"): "left out for good, .*debug.callback",
    ("xlascope", "jitt"): "has no attribute 'jitt'; did you mean 'jit'",
    ("xlascope.numpy", "arrange"): "did you mean 'arange', .* or 'array'",
    ("xlascope.random", "norml"): "did you mean 'normal'",
    ("xlascope.tree_util", "tree_mapp"): "did you mean 'tree_map'",
    ("xlascope", "of_nobodys"): "^module 'xlascope' has no attribute 'of_nobodys'$",
    ("xlascope", "_repr_html_"): "^module 'xlascope' has no attribute '_repr_html_'$",
}
IMPORTS = {
    "from xlascope import pallas": PALLAS,
    "from xlascope.experimental import pallas": PALLAS,
    "import xlascope.experimental.pallas": PALLAS,
    "import xlascope.experimental.pallas.triton": PALLAS,
    "from xlascope.numpy import of_tomorrow": "^cannot import name 'of_tomorrow' from 'xlascope.numpy': "
    + NOT_YET.format("numpy.of_tomorrow"),
    "from xlascope import of_tomorrow": NOT_YET.format("of_tomorrow"),
    "import xlascope.of_tomorrow": "^No module named 'xlascope.of_tomorrow': " + NOT_YET.format("of_tomorrow"),
    "from xlascope.of_tomorrow.special import erf": NOT_YET.format("of_tomorrow"),
    "from xlascope.tree_util import tree_mapp": "^cannot import name 'tree_mapp' .*did you mean 'tree_map'",
    "from xlascope.config import config": "config is .* of xlascope and no module: write from xlascope import config",
    "import xlascope.numpy.ones": "no module: write from xlascope.numpy import ones",
    "import xlascope.nnn": "^No module named 'xlascope.nnn'; did you mean 'nn'",
}


@pytest.fixture(autouse=True)
def of_tomorrow(monkeypatch):
    """Names that jax has and we lack, whatever we have learned since this was written."""
    rooms = {module.partition(".")[2] for module, name in ATTRIBUTES if name == "of_tomorrow"}
    more = {f"{room}.of_tomorrow".lstrip(".") for room in rooms}
    monkeypatch.setattr(missing, "names_of_jax", lambda: names_of_jax() | more)


@pytest.mark.parametrize(("module", "name"), ATTRIBUTES)
def test_a_missing_attribute_is_explained(module, name):
    found = importlib.import_module(module)
    with pytest.raises(AttributeError, match=ATTRIBUTES[module, name]):
        getattr(found, name)
    assert not hasattr(found, name) and name not in dir(found)
    assert getattr(found, name, 3) == 3


@pytest.mark.parametrize("statement", IMPORTS)
def test_a_failed_import_is_explained(statement):
    with pytest.raises(ImportError, match=IMPORTS[statement]):
        exec(statement)


def test_who_looks_whether_a_module_is_there_hears_no():
    assert importlib.util.find_spec("xlascope.pallas") is None
    assert importlib.util.find_spec("xlascope.nn") is not None


def test_names_that_are_there_are_imported_as_ever():
    namespace = {}
    exec("from xlascope import numpy, nn, jit\nfrom xlascope.tree_util import tree_map", namespace)
    assert namespace["jit"] is xs.jit and namespace["tree_map"] is xlascope.tree_util.tree_map


def test_a_module_that_nobody_has_imported_is_to_be_imported(fresh_python):
    told = fresh_python(
        "import xlascope.experimental as experimental\n"
        "try:\n    experimental.ode\nexcept AttributeError as error:\n    print(error)\n"
        "import xlascope.experimental.ode\nprint(experimental.ode.__name__)"
    )
    assert "imported by its name, as in jax: import xlascope.experimental.ode" in told
    assert told.endswith("xlascope.experimental.ode\n")


def test_the_explanation_is_loaded_when_it_is_needed(fresh_python):
    program = (
        "import sys, xlascope, xlascope.numpy; print(*(m in sys.modules for m in ('xlascope.missing', 'difflib')))"
    )
    assert fresh_python(program).split()[0] == "False"


def test_the_array_librarys_names_are_here():
    found = public_names.presence()
    for module in (
        "tree",
        "tree_util",
        "dtypes",
        "ops",
        "flatten_util",
        "dlpack",
        "image",
        "numpy.linalg",
        "numpy.fft",
    ):
        here, left_out, lacking = found[module]
        assert here and not left_out and not lacking, module
    here, left_out, lacking = found["numpy"]
    assert set(left_out) == {"fromfile", "fromiter"} and not lacking
    here, left_out, lacking = found["lax"]
    assert len(here) >= 0.97 * (len(here) + len(left_out) + len(lacking)), lacking
    lost = [
        name for name in UNSUPPORTED_NAMES if name.rpartition(".")[2] in found.get(name.rpartition(".")[0], [[]])[0]
    ]
    assert not lost, "left out, and here"


@pytest.mark.slow
def test_the_names_are_those_of_jax_and_what_is_left_out_is_not_here():
    program = (
        "import importlib, sys\n"
        "def there(name):\n"
        "    path = ['jax', *name.split('.')]\n"
        "    for at in range(len(path), 0, -1):\n"
        "        try: found = importlib.import_module('.'.join(path[:at]))\n"
        "        except ModuleNotFoundError as error:\n"
        "            if not error.name.startswith('jax'): return True\n"
        "            continue\n"
        "        except ImportError: return True\n"
        "        for part in path[at:]:\n"
        "            if not hasattr(found, part): return False\n"
        "            found = getattr(found, part)\n"
        "        return True\n"
        "print(*(name for name in sys.stdin.read().split() if not there(name)))"
    )
    names = "\n".join(names_of_jax())
    done = subprocess.run([sys.executable, "-c", program], input=names, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    for name in UNSUPPORTED_NAMES:
        with pytest.raises(AttributeError, match="left out for good"):
            found = xs
            for part in name.split("."):
                found = getattr(found, part)
