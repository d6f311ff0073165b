"""f.trace, f.lower, compile: each stage says what it knows, and the last one runs."""

import functools
import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, records
from xlascope.errors import CompilationError, OutOfMemoryError
from xlascope.extend.core import Primitive
from xlascope.interpreters import mlir
from xlascope.xla.system.collection_pause import pause_collection


@pytest.fixture(name="step")
def make_step():
    def step(params, x, scale=2.0):
        return {"w": params["w"] * scale + x, "n": x.sum()}

    return xs.jit(step, donate_argnums=0)


@pytest.fixture(name="params")
def make_params():
    return {"w": jnp.ones(3)}


def test_traced_knows_the_program_and_the_types(step, params):
    traced = step.trace(params, np.zeros(3, "float32"))
    assert traced.fun_name == "step"
    assert "mul" in str(traced.jaxpr)
    assert traced.out_info["n"] == xs.ShapeDtypeStruct((), "float32")
    assert traced.out_avals["w"].str_short() == "f32[3]"
    (first, second), named = traced.args_info
    assert first["w"].donated and not second.donated and named == {}
    assert second.shape == (3,) and second.dtype == np.float32
    assert traced.in_tree == xs.tree_structure(((({"w": 0}), 0), {}))
    assert traced.donate_argnums == (0,)


def test_shapes_and_dtypes_are_enough_to_trace_lower_and_compile(step):
    struct = xs.ShapeDtypeStruct((4,), "float32")
    compiled = step.lower({"w": struct}, struct).compile()
    out = compiled({"w": jnp.arange(4.0)}, jnp.ones(4))
    np.testing.assert_allclose(out["w"], np.arange(4.0) * 2 + 1)
    assert step.eval_shape({"w": struct}, struct)["w"] == struct


def test_a_shape_dtype_struct_is_like_an_array():
    struct = xs.ShapeDtypeStruct((2, 3), "float32")
    assert (struct.size, struct.ndim, len(struct), struct.sharding) == (6, 2, 2, None)
    weak = struct.update(shape=(), weak_type=True)
    assert repr(weak) == "ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)" and weak != struct.update(shape=())
    assert xs.ShapeDtypeStruct.like(weak) == weak and len({weak, xs.ShapeDtypeStruct.like(weak)}) == 1
    placed = xs.ShapeDtypeStruct.like(jnp.ones(3))
    assert placed.sharding == jnp.ones(3).sharding and "sharding=SingleDeviceSharding" in repr(placed)
    assert xs.jit(lambda x: x + 1.0).lower(placed).compile()(jnp.ones(3)).tolist() == [2.0] * 3
    assert xs.eval_shape(lambda x: x * 2, placed) == xs.ShapeDtypeStruct((3,), "float32")
    for invalid in (lambda: len(weak), lambda: struct.update(dtype=None), lambda: struct.update(sharding=3)):
        with pytest.raises((TypeError, ValueError), match="ShapeDtypeStruct"):
            invalid()


def test_only_traced_results_have_weak_types():
    traced = xs.jit(lambda x: x + 1).trace(3)
    assert traced.out_info.weak_type and not traced.lower().out_info.weak_type
    assert not traced.lower().compile().out_info.weak_type and xs.jit(lambda x: x + 1).eval_shape(3).weak_type


def test_lowered_is_readable_in_both_dialects_and_has_costs(step, params):
    lowered = step.lower(params, jnp.ones(3))
    assert "stablehlo.multiply" in lowered.as_text()
    assert "e0/mul" in lowered.as_text(debug_info=True)
    assert lowered.as_text("hlo").startswith("HloModule")
    assert lowered.cost_analysis()["flops"] > 0
    assert "func.func" in str(lowered.compiler_ir())
    with pytest.raises(ValueError, match="stablehlo and hlo"):
        lowered.as_text("mhlo")


A = np.full((64, 64), 0.1, "f")


def product(x):
    return jnp.tanh(x @ A)


def scanned(steps, body=product):
    return lambda x: lax.scan(lambda c, _: (body(c), None), x, None, steps)[0]


def in_branches(x):
    return lax.cond(x.sum() > 0, scanned(7), lambda x: x, x)


#: Programs, how many products of two 64 × 64 matrices a run computes, and loops whose number of steps nobody knows.
LOOPS = {
    "no loop": (product, 1, 0),
    "scan": (scanned(10), 10, 0),
    "fori_loop": (lambda x: lax.fori_loop(0, 100, lambda i, c: product(c), x), 100, 0),
    "scan in scan": (scanned(10, scanned(5)), 50, 0),
    "gradient": (xs.grad(lambda x: scanned(10)(x).sum()), 20, 0),
    "in a branch": (in_branches, 7, 0),
    "while": (lambda x: lax.while_loop(lambda c: c.sum() < 3, product, x), 1, 1),
    "scan in while": (lambda x: lax.while_loop(lambda c: c.sum() < 3, scanned(10), x), 10, 1),
}


@pytest.mark.parametrize("name", LOOPS)
def test_each_step_of_a_loop_counts_where_their_number_is_known(name):
    function, products, unknown = LOOPS[name]
    seen = []
    with records.watch(seen.append):
        compiled = xs.jit(function).lower(A).compile()
    record = next(each for each in reversed(seen) if isinstance(each, records.Compiled))
    assert record.flops == compiled.cost_analysis()["flops"]
    assert record.flops == pytest.approx(products * 2 * 64**3, rel=0.05)
    assert [note for note in record.notes if "count 1 loop once" in note] == list(record.notes)[:unknown]


def test_compiled_runs_and_knows_its_memory(step, params):
    compiled = step.lower(params, jnp.ones(3)).compile()
    assert compiled.as_text().startswith("HloModule")
    assert compiled.cost_analysis()["bytes accessed"] > 0
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes >= 24 and memory.output_size_in_bytes >= 16
    out = compiled(params, jnp.ones(3))
    np.testing.assert_allclose(out["w"], [3.0, 3.0, 3.0])
    assert params["w"].is_deleted(), "a donated argument is gone"
    assert compiled.input_shardings[0][1] == compiled.output_shardings["n"]
    assert compiled.runtime_executable().hlo_modules()


def test_static_arguments_are_left_out_of_a_compiled_call():
    power = xs.jit(lambda x, n: x**n, static_argnums=1)
    compiled = power.lower(jnp.ones(3), 3).compile()
    np.testing.assert_allclose(compiled(jnp.full(3, 2.0)), [8.0] * 3)
    with pytest.raises(TypeError, match="another structure"):
        compiled(jnp.ones(3), 3)


MISUSES = [
    ("shape", lambda c: c({"w": jnp.ones(4)}, jnp.ones(4)), r"params\['w'\] is f32\[4\], compiled for f32\[3\]"),
    ("dtype", lambda c: c({"w": jnp.ones(3, int)}, jnp.ones(3)), r"i32\[3\], compiled for f32\[3\]"),
    ("structure", lambda c: c({"v": jnp.ones(3)}, jnp.ones(3)), r"args\[0\]: \{'w': \*\} → \{'v': \*\}"),
    ("missing", lambda c: c({"w": jnp.ones(3)}), r"args\[1\] is gone"),
    ("transformed", lambda c: xs.vmap(lambda x: c({"w": x}, x))(jnp.ones((2, 3))), "cannot be transformed"),
    ("no array", lambda c: c({"w": "text"}, jnp.ones(3)), "'text'"),
]


@pytest.mark.parametrize(("name", "call", "words"), MISUSES, ids=[row[0] for row in MISUSES])
def test_a_compiled_call_refuses_what_it_was_not_compiled_for(step, params, name, call, words):
    compiled = step.lower(params, jnp.ones(3)).compile()
    with pytest.raises(TypeError, match=words) as caught:
        call(compiled)
    if name != "no array":
        assert __file__ in str(caught.value)


def test_compiler_options_reach_the_compiler():
    double = xs.jit(lambda x: x * 2)
    lowered = double.lower(1.0)
    assert float(lowered.compile({"xla_cpu_enable_fast_math": True})(3.0)) == 6.0
    with pytest.raises(Exception, match="No such compile option: 'xla_nothing'"):
        lowered.compile({"xla_nothing": 1})
    with pytest.raises(Exception, match="'yes' is not a valid bool value"):
        lowered.compile({"xla_cpu_enable_fast_math": "yes"})
    with pytest.raises(Exception, match="No such compile option"):
        xs.jit(lambda x: x, compiler_options={"xla_nothing": 1})(1.0)
    assert float(xs.jit(lambda x: x * 2, compiler_options={"xla_cpu_enable_fast_math": True})(3.0)) == 6.0


def test_staging_and_calling_share_one_trace(step):
    traces = []
    counted = xs.jit(lambda x: (traces.append(1), x * 2)[1])
    counted.trace(jnp.ones(3))
    counted.lower(jnp.ones(3))
    counted(jnp.ones(3))
    assert len(traces) == 1
    counted.clear_cache()
    counted(jnp.ones(3))
    assert len(traces) == 2


def test_jit_takes_methods_callables_and_partials():
    class Counter:
        def __init__(self):
            self.start = 2.0

        def step(self, x):
            return x + self.start

    class Doubler:
        def __call__(self, x):
            return x * 2

    assert float(xs.jit(Counter().step)(1.0)) == 3.0
    assert float(xs.jit(Doubler())(4.0)) == 8.0
    assert float(xs.jit(functools.partial(lambda n, x: x * n, 3))(2.0)) == 6.0


def test_static_and_donated_arguments_may_be_named_either_way():
    by_name = xs.jit(lambda x, n: x * n, static_argnames="n")
    assert float(by_name(2.0, 3)) == 6.0 and float(by_name(2.0, n=3)) == 6.0
    donating = xs.jit(lambda x: x + 1, donate_argnames="x")
    array = jnp.ones(3)
    donating(array)
    assert array.is_deleted()


def test_a_static_or_donated_argument_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match=r"static_argnums names argument 3, .* has 1 positional argument\."):
        xs.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match=r"donate_argnums names argument 2, .* has 2 positional arguments\."):
        xs.jit(lambda x, y: x, donate_argnums=2)
    with pytest.raises(ValueError, match="static_argnames names 'size'"):
        xs.jit(lambda x: x, static_argnames="size")
    with pytest.raises(ValueError, match="donate_argnames names 'y'"):
        xs.jit(lambda x: x, donate_argnames="y")


def test_inlined_calls_leave_no_equation():
    inner = xs.jit(lambda x: x * 2, inline=True)
    outer = xs.make_jaxpr(lambda x: inner(x) + 1)(1.0)
    assert [e.primitive.name for e in outer.eqns] == ["mul", "add"]
    assert [e.primitive.name for e in xs.make_jaxpr(lambda x: xs.jit(lambda y: y * 2)(x))(1.0).eqns] == ["jit"]


def test_unused_arguments_are_dropped_unless_kept():
    ignoring = lambda x, y: x  # noqa: E731
    assert "%arg1" not in xs.jit(ignoring).lower(1.0, 2.0).as_text()
    assert "%arg1" in xs.jit(ignoring, keep_unused=True).lower(1.0, 2.0).as_text()


def test_compiling_ahead_fails_in_the_words_of_a_call():
    direction = Primitive("direction")
    direction.def_abstract_eval(lambda x: x)
    mlir.register_lowering(direction, lambda context, x: [stablehlo.SignOp(x).result])
    function = xs.jit(lambda x: direction.bind(x) + 1)
    words = r"^sign in <lambda> of u8\[1\] could not be compiled for cpu at .*test_stages"
    with pytest.raises(CompilationError, match=words) as called:
        function(np.uint8([3]))
    with pytest.raises(CompilationError, match=words) as ahead:
        function.lower(np.uint8([3])).compile()
    assert "sign" in ahead.value.compiler_text and "sign" in called.value.compiler_text


def test_compiling_ahead_asks_for_room():
    with pytest.raises(OutOfMemoryError, match=r"<lambda> needs more memory than cpu:0 has left at .*test_stages"):
        xs.jit(lambda: jnp.zeros((1 << 48,))).lower().compile()


def test_bits_of_a_known_number_have_no_sign():
    assert int(xs.jit(lambda: xs.lax.clz(-1))()) == 0 == int(xs.jit(lambda: xs.lax.clz(np.int8(-128)))())


def test_garbage_is_collected_again_after_lowering():
    seen = []

    def failing(context, x):
        seen.append(gc.isenabled())
        raise ValueError("no lowering")

    primitive = Primitive("unlowerable")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, failing)
    function = xs.jit(primitive.bind)
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            with pytest.raises(ValueError, match="no lowering"):
                function.lower(1.0)
            assert gc.isenabled() == enabled
        finally:
            gc.enable()
    assert seen == [False, False]


def test_pauses_of_several_threads_end_together():
    with pause_collection():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(pause_briefly).result()
        assert not gc.isenabled()
    assert gc.isenabled()


def pause_briefly():
    with pause_collection():
        assert not gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_process_forked_during_a_pause_collects_garbage():
    """No thread of the child would end the pause, nor release its lock."""
    forked = threading.Event()
    paused = threading.Event()

    def hold_pause():
        with pause_collection():
            paused.set()
            forked.wait()

    thread = threading.Thread(target=hold_pause)
    thread.start()
    paused.wait()
    child = os.fork()
    if not child:
        is_collecting = gc.isenabled()
        with pause_collection():
            is_paused = not gc.isenabled()
        os._exit(0 if is_collecting and is_paused and gc.isenabled() else 1)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
