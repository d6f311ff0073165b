"""Importing is looking, not touching: the engine boots at its first use, and the notebook's libraries stay away."""

from collections.abc import Callable

import pytest

NOTEBOOK = {"IPython", "anywidget", "ipywidgets", "traitlets"}
ENGINE = {"jaxlib"}
PEERS = {"jax"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("xlascope", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.records", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.readers", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.readers.memory.buffer_assignment", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.readers.dumps", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.analysis", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.analysis.diff", NOTEBOOK | ENGINE | PEERS),
        ("xlascope.numpy", NOTEBOOK | PEERS),
        ("xlascope.inspect", NOTEBOOK | PEERS),
        ("xlascope_widgets", ENGINE | PEERS),
    ],
)
def test_import_loads_no_more_than_it_says(module: str, absent: set[str], fresh_python: Callable[[str], str]) -> None:
    loaded = fresh_python(f"import {module}, sys; print(*sys.modules)").split()
    assert not absent.intersection(loaded)


@pytest.mark.parametrize("module", ["xlascope", "xlascope.records", "xlascope.inspect", "xlascope_widgets"])
def test_looking_at_programs_boots_nothing(module: str, fresh_python: Callable[[str], str]) -> None:
    """Neither imported by itself nor as an attribute of the package."""
    package, _, name = module.partition(".")
    fresh_python(f"import {module}, sys; assert 'xlascope.runtime.boot' not in sys.modules")
    fresh_python(
        f"import {package}, sys; {package}{name and f'.{name}'}; assert 'xlascope.runtime.boot' not in sys.modules"
    )


def test_a_question_about_a_function_starts_the_engine(fresh_python: Callable[[str], str]) -> None:
    assert "add a a" in fresh_python("from xlascope.inspect import explore; print(explore(lambda x: x + x, 1.0))")


def test_using_the_engine_loads_no_notebook_and_no_jax(fresh_python: Callable[[str], str]) -> None:
    program = "import xlascope as xs, sys; print(xs.jit(lambda x: x + 1)(1)); print(*sys.modules)"
    value, *loaded = fresh_python(program).split()
    assert value == "2"
    assert not (NOTEBOOK | PEERS).intersection(loaded)


def test_a_first_result_imports_nothing_that_describes_it(fresh_python: Callable[[str], str]) -> None:
    """Nobody watches, and jaxlib is a tested one: records and metadata were an eighth of the time to the result."""
    program = """
import sys
before = set(sys.modules)
import xlascope as xs, xlascope.numpy as jnp
xs.jit(xs.grad(lambda x: jnp.mean(jnp.tanh(x) ** 2)))(jnp.ones(3))
print(*set(sys.modules) - before)
"""
    loaded = fresh_python(program).split()
    assert "xlascope.xla.compilation.compile_program" in loaded
    unneeded = {"xlascope.records.events", "xlascope.readers.hlo.text", "importlib.metadata"}
    assert not unneeded.intersection(loaded)


def test_names_are_listed_before_they_are_loaded(fresh_python: Callable[[str], str]) -> None:
    names = fresh_python("import xlascope; print(*dir(xlascope))").split()
    assert {"grad", "jit", "vmap", "make_jaxpr", "numpy", "random"} <= set(names)


def test_nothing_that_an_array_tells_imports_jax(fresh_python: Callable[[str], str]) -> None:
    """jaxlib's C++ would, where it gives the address of what came from NumPy."""
    program = """
import sys, numpy as np, xlascope.numpy as jnp
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "jax":
            print("jax is imported by", told)
            raise ImportError
sys.meta_path.insert(0, Finder())
for told in dir(jnp.ones(3)):
    if not told.startswith("_") or told in ("__array__", "__cuda_array_interface__", "__dlpack__", "__copy__"):
        x = jnp.asarray(np.ones((2, 3)))
        try:
            found = getattr(x, told)
            found()
        except Exception:
            pass
print("all told")
"""
    assert [line for line in fresh_python(program).splitlines() if "jax" in line or "told" in line] == ["all told"]


def test_reading_what_lies_on_several_devices_does_not_import_jax(fresh_python: Callable[[str], str]) -> None:
    """jaxlib's C++ would, where it makes arrays of the parts."""
    program = """
import sys, numpy as np, xlascope as xs
xs.config.update("num_cpu_devices", 2)
where = xs.NamedSharding(xs.make_mesh((2,), ("x",)), xs.P("x"))
print(np.asarray(xs.device_put(np.arange(4.0), where)).tolist(), "jax" in sys.modules)
"""
    assert fresh_python(program).strip() == "[0.0, 1.0, 2.0, 3.0] False"


def test_calls_of_python_do_not_import_jax(fresh_python: Callable[[str], str]) -> None:
    """jaxlib's C++ would, where a function took the result on which the order of calls depends."""
    program = """
import sys, numpy as np, xlascope as xs, xlascope.numpy as jnp
from xlascope.experimental import io_callback
xs.config.update("num_cpu_devices", 2)
where = xs.NamedSharding(xs.make_mesh((2,), ("x",)), xs.P("x"))
def f(x):
    xs.debug.print("{}", x.sum(), ordered=True)
    xs.debug.print("{}", x.sum())
    y = io_callback(lambda v: v + 1, xs.ShapeDtypeStruct((4,), np.float32), x, ordered=True)
    return y + xs.pure_callback(lambda v: v, xs.ShapeDtypeStruct((4,), np.float32), x)
for x in (np.arange(4, dtype=np.float32), xs.device_put(np.arange(4, dtype=np.float32), where)):
    for _ in range(4):
        xs.jit(f)(x).block_until_ready()
xs.effects_barrier()
print("jax" in sys.modules)
"""
    assert fresh_python(program).splitlines()[-1] == "False"
