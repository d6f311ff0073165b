"""Arrays cross DLPack both ways, and NumPy's files and buffers; einsum follows the path that it is given."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import dlpack
from xlascope.xla.arrays import dlpack as sharing_memory
from xlascope.xla.arrays.dlpack import SUPPORTED_DTYPES


def test_numpy_reads_our_memory():
    x = jnp.arange(6.0).reshape(2, 3)
    y = np.from_dlpack(x)
    np.testing.assert_array_equal(y, x)
    assert y.ctypes.data == x.unsafe_buffer_pointer() and not y.flags.writeable
    assert x.__dlpack_device__() == (1, 0)
    del x
    np.testing.assert_array_equal(y, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "float16", "uint32"])
@pytest.mark.parametrize("form", [(), (4,), (2, 3)])
def test_arrays_go_there_and_back(dtype, form):
    x = np.asarray((np.arange(np.prod(form, dtype=int)).reshape(form) % 3).astype(dtype))
    y = dlpack.from_dlpack(x)
    assert y.dtype == x.dtype and y.shape == x.shape
    np.testing.assert_array_equal(np.from_dlpack(y * 1), x)
    np.testing.assert_array_equal(xs.jit(lambda a: a)(y), x)


@pytest.mark.parametrize("dtype", sorted(SUPPORTED_DTYPES, key=str), ids=str)
@pytest.mark.parametrize("form", [(), (4,), (2, 3)])
def test_the_memory_of_an_accelerator_is_taken_as_it_is(dtype, form):
    """Here by that of the CPU, which is copied otherwise: the type is read from the capsule."""
    with xs.enable_x64(True):
        x = jnp.arange(np.prod(form, dtype=int)).reshape(form).astype(dtype)
    taken = sharing_memory.from_dlpack_capsule(x.__dlpack__(), xs.devices()[0])
    assert isinstance(taken, xs.Array) and (taken.shape, taken.dtype) == (form, dtype)
    assert taken.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(taken, x)


def test_other_orders_of_elements_are_copied():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    for view in (x.T, x[:, ::2], x[::-1]):
        np.testing.assert_array_equal(jnp.from_dlpack(view), view)
        np.testing.assert_array_equal(xs.jit(lambda a: a + 1)(jnp.from_dlpack(view)), view + 1)


def test_our_arrays_share_bfloat16_and_copy_where_asked():
    x = jnp.arange(3, dtype="bfloat16")
    assert jnp.from_dlpack(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert jnp.from_dlpack(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert jnp.from_dlpack(x, device=xs.devices()[0]).dtype == ml_dtypes.bfloat16


def test_wide_types_are_narrowed_unless_they_are_on():
    x = np.arange(3.0)
    assert jnp.from_dlpack(x).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        jnp.from_dlpack(x, copy=False)
    with xs.enable_x64(True):
        assert jnp.from_dlpack(x, copy=False).dtype == np.float64


def test_what_dlpack_lacks_is_said():
    with pytest.raises(BufferError, match="int4"):
        np.from_dlpack(jnp.zeros(2, "int4"))
    with pytest.raises(TypeError, match="__dlpack__"):
        dlpack.from_dlpack([1, 2])
    with pytest.raises(BufferError, match="device"):
        jnp.zeros(2).__dlpack__(dl_device=(2, 0))
    assert [dlpack.is_supported_dtype(d) for d in ("bool", "bfloat16", "int4", "float8_e4m3fn")] == [1, 1, 0, 0]


def test_files_hold_arrays(tmp_path):
    for dtype in ("float32", "bfloat16", "int8"):
        x = jnp.arange(6, dtype=dtype).reshape(2, 3)
        jnp.save(tmp_path / "x.npy", x)
        found = jnp.load(tmp_path / "x.npy")
        assert found.dtype == x.dtype and isinstance(found, xs.Array)
        np.testing.assert_array_equal(found, x)
    jnp.savez(tmp_path / "x.npz", jnp.ones(2), second=jnp.zeros(3))
    with jnp.load(tmp_path / "x.npz") as archive:
        assert {name: archive[name].shape for name in archive} == {"arr_0": (2,), "second": (3,)}


@pytest.mark.parametrize("subscripts", ["ij,jk,kl->il", "ij,jk,ki", "ab,b,bc,c->a", "i,j,k->kij", "ij,ij,ij->i"])
@pytest.mark.parametrize("optimize", [True, False, "optimal", "greedy", [(0, 1, 2)], [(1, 2), (0, 1)], [(0,), (0, 2)]])
def test_every_path_gives_the_same(subscripts, optimize):
    names = subscripts.partition("->")[0].split(",")
    rng = np.random.default_rng(0)
    operands = [rng.integers(-3, 4, tuple(2 + ord(c) % 3 for c in name)).astype("float32") for name in names]
    np.testing.assert_array_equal(
        jnp.einsum(subscripts, *operands, optimize=optimize), np.einsum(subscripts, *operands)
    )
    path, info = jnp.einsum_path(subscripts, *operands, optimize=optimize)
    assert info.opt_cost > 0 and subscripts.partition("->")[0] in str(info)
    np.testing.assert_array_equal(jnp.einsum(subscripts, *operands, optimize=path), np.einsum(subscripts, *operands))


def test_a_chain_is_multiplied_in_its_cheapest_order():
    sizes = [30, 2, 40, 3, 50]
    operands = [np.ones(pair, "float32") for pair in itertools.pairwise(sizes)]
    path, info = jnp.einsum_path("ab,bc,cd,de->ae", *operands)
    orders = [[(0, 1)] * 3, [(0, 1), (0, 1), (0, 1)], [(2, 3), (1, 2), (0, 1)], [(1, 2), (0, 2), (0, 1)]]
    costs = [jnp.einsum_path("ab,bc,cd,de->ae", *operands, optimize=each)[1].opt_cost for each in orders]
    assert info.opt_cost <= min(costs) and info.opt_cost < info.naive_cost
    assert len(path) == 3


@pytest.mark.parametrize("optimize", [[(0, 5)], [(0, 0)], [()]])
def test_a_path_that_does_not_fit_is_refused(optimize):
    with pytest.raises(ValueError, match="optimize"):
        jnp.einsum("i,i,i->i", np.ones(2), np.ones(2), np.ones(2), optimize=optimize)
    with pytest.raises(TypeError, match="optimize"):
        jnp.einsum("i,i->i", np.ones(2), np.ones(2), optimize=3.5)
