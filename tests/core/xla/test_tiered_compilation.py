"""Programs compiled twice: what answers first, the switch, what is told, and what is compiled once after all."""

import gc
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo
from tests.core.xla import kept_programs

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.extend.core import Primitive
from xlascope.interpreters import mlir
from xlascope.records import Compiled, Continued, Failure, Started
from xlascope.xla.compilation.compile_program import lower_program
from xlascope.xla.compilation.compile_request import CompileRequest
from xlascope.xla.compilation.tiered_compilation import OptimizedVersion
from xlascope.xla.devices.backend import default_device

#: A call is made so often at most until the optimized version is there.
MOST_CALLS = 2000


def chain(x):
    for _ in range(4):
        x = jnp.tanh(x @ x) + 0.1 * x
    return x


def watched(function, *arguments):
    """The results of a function's first call and of one after the switch, and all records until then."""
    seen = []
    with records.watch(seen.append):
        first = function(*arguments)
        last = called_until_switched(function, arguments, seen)
    return first, last, seen


def called_until_switched(function, arguments, seen):
    """The result of a call that jaxlib repeated without Python."""
    for _ in range(MOST_CALLS):
        before = runs(seen)
        result = xs.block_until_ready(function(*arguments))
        if runs(seen) == before:
            return result
        time.sleep(0.002)
    raise AssertionError("the optimized version did not come")


def runs(seen):
    return sum(isinstance(each, Started) and each.stage == "run" for each in seen)


def compiled(seen):
    return [each for each in seen if isinstance(each, Compiled)]


PROGRAMS = {
    "a chain": (chain, (0.01 * np.ones((32, 32), np.float32),)),
    "a step of layers": kept_programs.layers(4),
    "a gradient": (xs.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)), (np.linspace(0, 1, 99, dtype=np.float32),)),
    "a sort": (lambda x: jnp.sort(jnp.exp(x)), (np.linspace(1, -1, 64, dtype=np.float32),)),
    "a loop": (lambda x: xs.lax.fori_loop(0, 9, lambda i, c: jnp.cos(c) + i, x), (np.zeros(5, np.float32),)),
    "integers": (lambda x: jnp.cumsum(x * 3) // 2, (np.arange(50, dtype=np.int32),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_versions_give_what_one_gives(name):
    function, arguments = PROGRAMS[name]
    first, last, seen = watched(xs.jit(function, tiered=True), *arguments)
    plain = xs.jit(function)(*arguments)
    for found in (first, last):
        xs.tree_util.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, plain)
    assert [each.quick for each in compiled(seen)] == [True, False]
    assert len({each.module for each in compiled(seen)}) == 2 and len({each.program for each in compiled(seen)}) == 1


def test_what_is_told_and_in_which_order():
    *_, seen = watched(xs.jit(lambda x: jnp.sin(x) * 2.0, tiered=True), 1.0)
    told = [each for each in seen if isinstance(each, Compiled | Continued)]
    kinds = [(type(each), each.quick if isinstance(each, Compiled) else each.seconds is None) for each in told]
    assert kinds == [(Compiled, True), (Continued, True), (Compiled, False), (Continued, False)]


def once(function, *arguments):
    """How the compilations of a call are marked, when some time has passed since."""
    seen = []
    with records.watch(seen.append):
        xs.block_until_ready(function(*arguments))
        time.sleep(0.1)
    return [each.quick for each in compiled(seen)]


def callback(x):
    return xs.pure_callback(lambda y: np.asarray(y) + 1.0, xs.ShapeDtypeStruct((), np.float32), x) * 2.0


def test_what_calls_python_or_is_compiled_ahead_or_stands_inside_is_compiled_once():
    assert once(xs.jit(callback, tiered=True), np.float32(1.0)) == [False]
    assert once(lambda: xs.jit(chain, tiered=True).lower(np.ones((8, 8), np.float32)).compile()) == [False]
    assert once(xs.jit(lambda x: xs.jit(chain, tiered=True)(x)), np.ones((8, 8), np.float32)) == [False]


@pytest.fixture
def cache(tmp_path):
    """A folder for all threads: a block of settings counts on its own."""
    before = xs.config.compilation_cache_dir
    xs.config.update("compilation_cache_dir", str(tmp_path))
    yield tmp_path
    xs.config.update("compilation_cache_dir", before)


def test_what_is_on_disk_is_not_compiled_quickly(cache):
    x = np.ones((16, 16), np.float32)
    watched(xs.jit(chain, tiered=True), x)
    xs.clear_caches()
    seen = []
    with records.watch(seen.append):
        xs.jit(chain, tiered=True)(x)
    assert [(each.quick, each.cache) for each in compiled(seen)] == [(False, "hit")]


def test_derivatives_and_batches():
    tiered = xs.jit(lambda x: jnp.sin(x) * x, tiered=True)
    x = jnp.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(xs.vmap(xs.grad(tiered))(x), np.cos(x) * x + np.sin(x), rtol=1e-6)


def test_donated_memory_is_given_away_by_both():
    step = xs.jit(lambda x: x + 1.0, donate_argnums=0, tiered=True)
    x = jnp.zeros(1000)
    for _ in range(50):
        before, x = x, step(x)
        assert before.is_deleted()
        time.sleep(0.002)
    assert float(x[0]) == 50.0


def test_threads_at_once():
    function, found = xs.jit(chain, tiered=True), []
    x = 0.01 * np.ones((24, 24), np.float32)
    threads = [threading.Thread(target=lambda: found.extend(function(x) for _ in range(60))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 240
    for each in found[::20]:
        np.testing.assert_allclose(each, found[0], rtol=1e-5, atol=1e-7)


def test_where_xla_fails_the_quick_version_stays():
    direction = Primitive("direction")
    direction.def_abstract_eval(lambda x: x)
    mlir.register_lowering(direction, lambda context, x: [stablehlo.SignOp(x).result])
    refused = xs.make_jaxpr(lambda x: direction.bind(x))(np.uint8([3]))
    better = OptimizedVersion(lower_program(CompileRequest(refused), "cpu"), default_device())
    seen = []
    with records.watch(seen.append):
        better.start()
        until = time.monotonic() + 30
        while not any(isinstance(each, Continued) and each.seconds is not None for each in seen):
            assert time.monotonic() < until
            time.sleep(0.01)
    assert any(isinstance(each, Failure) for each in seen)
    with pytest.warns(UserWarning, match="goes on with the version that was compiled quickly"):
        assert better.compilation() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert better.compilation() is None and not better.is_pending


def test_a_function_that_is_gone_leaves_nothing():
    function = lambda x: chain(x)  # noqa: E731
    jitted = xs.jit(function, tiered=True)
    jitted(np.ones((40, 40), np.float32))
    gone = weakref.ref(function)
    del function, jitted
    until = time.monotonic() + 20
    while gone() is not None and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    assert gone() is None


def test_the_process_ends_while_the_optimized_version_is_compiled(fresh_python):
    found = fresh_python(
        "import numpy as np, xlascope as xs, xlascope.numpy as jnp\n"
        "def f(x):\n"
        "    for i in range(60):\n"
        "        x = jnp.tanh(jnp.sort(x @ x, axis=0)) + i\n"
        "    return x\n"
        "print(xs.jit(f, tiered=True)(np.ones((4, 4), np.float32)).shape)\n"
    )
    assert found.strip() == "(4, 4)"
