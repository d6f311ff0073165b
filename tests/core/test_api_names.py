"""Names as JAX spells and spelled them."""

import numpy as np

import xlascope as xs


def test_old_spellings_work():
    assert xs.lib.xla_bridge.get_backend().platform == "cpu"
    assert xs.tree_multimap(lambda x, y: x + y, [1, 2], [3, 4]) == [4, 6]
    assert xs.tree_map(lambda x: x + 1, {"a": 1}) == {"a": 2}
    assert xs.tree_leaves({"a": 1, "b": [2]}) == [1, 2]
    x = np.zeros((2, 2), "float32")
    np.testing.assert_array_equal(xs.ops.index_update(x, xs.ops.index[0, :], 3.0), [[3, 3], [0, 0]])
    np.testing.assert_array_equal(xs.ops.index_add(x, xs.ops.index[:, 1], 2.0), [[0, 2], [0, 2]])
    np.testing.assert_array_equal(xs.ops.segment_sum(np.arange(3.0), np.array([1, 1, 0]), 2), [2, 1])


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
