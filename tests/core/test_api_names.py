"""Names as JAX spells and spelled them."""

import importlib

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax, ops, random

X = np.zeros((2, 2), "float32")


def test_old_spellings_work():
    assert xs.lib.xla_bridge.get_backend().platform == "cpu"
    assert xs.tree_multimap(lambda x, y: x + y, [1, 2], [3, 4]) == [4, 6]
    assert xs.tree_map(lambda x: x + 1, {"a": 1}) == {"a": 2}
    assert xs.tree_leaves({"a": 1, "b": [2]}) == [1, 2]
    x = np.zeros((2, 2), "float32")
    np.testing.assert_array_equal(xs.ops.index_update(x, xs.ops.index[0, :], 3.0), [[3, 3], [0, 0]])
    np.testing.assert_array_equal(xs.ops.index_add(x, xs.ops.index[:, 1], 2.0), [[0, 2], [0, 2]])
    np.testing.assert_array_equal(xs.ops.segment_sum(np.arange(3.0), np.array([1, 1, 0]), 2), [2, 1])


#: A spelling of programs of 2018 to 2021, and what it gives.
SPELLINGS = {
    "np.sum(np.ones(3))": 3.0,  # jax.numpy as np
    "ops.index_update(X, ops.index[0, :], 3.0)": [[3, 3], [0, 0]],
    "ops.index_add(X, ops.index[:, 1], 2.0)": [[0, 2], [0, 2]],
    "ops.index_mul(X + 1, ops.index[1, 0], 5.0)": [[1, 1], [5, 1]],
    "ops.index_min(X + 1, ops.index[1], 0.5)": [[1, 1], [0.5, 0.5]],
    "ops.index_max(X + 1, ops.index[1], 2.0)": [[1, 1], [2, 2]],
    "xs.tree_map(lambda x: x + 1, [1, 2])": [2, 3],
    "xs.tree_leaves((1, {'a': 2}))": [1, 2],
    "xs.tree_multimap(lambda x, y: x * y, (1, 2), (3, 4))": (3, 8),
    "xs.tree_util.tree_map(lambda x: -x, [1])": [-1],
    "xs.tree_util.tree_multimap(lambda x, y: x + y, [1], [2])": [3],
    "random.uniform(random.PRNGKey(0), (2,)).shape": (2,),
    "xs.lib.xla_bridge.get_backend().platform": "cpu",
    "xs.local_devices()[0].platform": "cpu",
    "xs.jit(lambda x: x + 1, backend='cpu')(1.0)": 2.0,
    "xs.device_put(np.ones(2)).device.platform": "cpu",
    "lax.log(2)": np.log(2),
    "lax.exp(1)": np.e,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_spelling_of_the_sources_works(spelling):
    found = eval(spelling, {"xs": xs, "np": xs.numpy, "lax": lax, "ops": ops, "random": random, "X": X})
    wanted = SPELLINGS[spelling]
    if isinstance(wanted, (str, tuple)):
        assert found == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["stax", "optimizers"])
def test_a_moved_module_is_the_one_where_it_is_now(name):
    old, new = (importlib.import_module(f"xlascope.{room}.{name}") for room in ("experimental", "example_libraries"))
    own = [each for each, value in vars(new).items() if getattr(value, "__module__", "") == new.__name__]
    public = [each for each in own if not each.startswith("_")]
    assert len(public) > 5 and [each for each in public if getattr(old, each, None) is not getattr(new, each)] == []


def test_settings_have_jaxs_names(fresh_python):
    program = (
        "import xlascope as xs, xlascope.numpy as jnp\n"
        "xs.config.update('jax_enable_x64', True)\n"
        "print(jnp.ones(2).dtype, xs.config.jax_enable_x64)"
    )
    assert fresh_python(program).split() == ["float64", "True"]


def test_modules_imported_alone_bring_arrays_with_operators(fresh_python):
    for module in ("random", "nn", "numpy", "ops"):
        program = f"import xlascope.{module}, xlascope; print(xlascope.jit(lambda x: x)(2.0) + 1)"
        assert fresh_python(program).strip() == "3.0", module


def test_copying_to_the_host_does_not_import_jax(fresh_python):
    program = (
        "import sys, numpy as np, ml_dtypes, xlascope as xs\n"
        "for dtype in ('float32', 'int32', ml_dtypes.bfloat16):\n"
        "    np.asarray(xs.jit(lambda x: x * 2)(np.ones(3, dtype)))\n"
        "print('jax' in sys.modules)"
    )
    assert fresh_python(program).strip() == "False"
