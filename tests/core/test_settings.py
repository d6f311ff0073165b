"""Settings: their three ways in, that they end, what each of them does, and that jax does the same."""

import gc
import logging
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.changes_of_jax import made

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, settings

HERE = Path(__file__).parent
PROGRAMS = HERE / "settings_programs.py"

#: A value for each setting that differs from the one at first.
OTHER = {
    "array_garbage_collection_guard": "log",
    "default_device": "cpu",
    "default_matmul_precision": "highest",
    "default_prng_impl": "rbg",
    "keep": "auto",
    "legacy_prng_key": "error",
    "num_cpu_devices": 3,
    "numpy_dtype_promotion": "strict",
    "numpy_rank_promotion": "raise",
    "platforms": "cpu",
    "program_wait_seconds": 7,
    "reroll": "always",
    "traceback_filtering": "remove_frames",
    "transfer_guard": "log",
    "transfer_guard_device_to_device": "disallow",
    "transfer_guard_device_to_host": "log_explicit",
    "transfer_guard_host_to_device": "disallow_explicit",
}
FIXED = {"thread_guard": True}
OF_THE_CACHE = {
    *("compilation_cache_dir", "compilation_cache_shared_dirs", "compilation_cache_max_size"),
    "enable_compilation_cache",
    *("persistent_cache_min_compile_time_secs", "persistent_cache_min_entry_size_bytes"),
}
ROWS = [
    (found, OTHER.get(found.name, not found.value))
    for found in settings.all_settings()
    if found.name not in {*FIXED, *OF_THE_CACHE}
]
NAMES = [found.name for found, _ in ROWS]

# The ways in ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("found", "other"), ROWS, ids=NAMES)
def test_a_block_sets_and_restores(found, other):
    before = found.value
    with found(other):
        assert found.value == other
        with settings.setting(found.name, before):
            assert found.value == before
        assert xs.config.read(f"jax_{found.name}") == getattr(xs.config, f"jax_{found.name}") == other
    with pytest.raises(ZeroDivisionError), found(other):
        raise ZeroDivisionError
    assert found.value == before


@pytest.mark.parametrize(("found", "other"), ROWS, ids=NAMES)
def test_an_update_holds_for_the_process_and_a_block_for_its_thread(found, other):
    before = found.value
    seen = {}

    def look(when):
        thread = threading.Thread(target=lambda: seen.setdefault(when, found.value))
        thread.start()
        thread.join()

    try:
        with found(other):
            look("in a block")
        xs.config.update(f"jax_{found.name}", other)
        look("after an update")
        assert xs.config.values[f"jax_{found.name}"] == other
    finally:
        xs.config.update(found.name, before)
    assert seen == {"in a block": before, "after an update": other}


def test_the_environment(fresh_python, monkeypatch):
    names = [name for name in NAMES if name not in ("traceback_filtering", "transfer_guard", "disable_jit")]
    others = {name: other for (_, other), name in zip(ROWS, NAMES, strict=True) if name in names}
    for number, (name, other) in enumerate(others.items()):
        prefix = ("XLASCOPE", "JAX")[number % 2]
        monkeypatch.setenv(f"{prefix}_{name.upper()}", str(other).lower() if isinstance(other, bool) else str(other))
    program = f"import xlascope as xs; print(*[getattr(xs.config, name) for name in {list(others)!r}])"
    assert fresh_python(program).split() == [str(value) for value in others.values()]


def test_our_name_goes_before_jaxs_and_one_guard_stands_for_three(fresh_python, monkeypatch):
    monkeypatch.setenv("JAX_DEBUG_NANS", "1")
    monkeypatch.setenv("XLASCOPE_DEBUG_NANS", "off")
    monkeypatch.setenv("JAX_TRANSFER_GUARD", "log")
    program = (
        "import xlascope as xs; c = xs.config; print(c.debug_nans, c.transfer_guard, c.transfer_guard_host_to_device)"
    )
    assert fresh_python(program).split() == ["False", "log", "log"]


@pytest.mark.parametrize(
    ("variable", "value", "valid"),
    [
        ("XLASCOPE_DEBUG_NANS", "maybe", "1, true, 0 or false"),
        ("JAX_NUMPY_RANK_PROMOTION", "perhaps", "allow, warn, raise"),
        ("XLASCOPE_TRANSFER_GUARD", "no", "disallow_explicit"),
        ("JAX_NUM_CPU_DEVICES", "two", "whole number"),
        ("JAX_DEFAULT_PRNG_IMPL", "philox", "threefry2x32, rbg, unsafe_rbg"),
    ],
)
def test_an_environment_that_makes_no_sense_is_an_error_that_lists_what_would(variable, value, valid, monkeypatch):
    monkeypatch.setenv(variable, value)
    done = subprocess.run(
        [sys.executable, "-c", "import xlascope; xlascope.config.values"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode and variable.partition("_")[2].lower() in done.stderr.lower() and valid in done.stderr


@pytest.mark.parametrize("found", settings.all_settings(), ids=lambda found: found.name)
def test_a_value_that_is_none_is_an_error_that_lists_the_valid_ones(found):
    before = found.value
    wrong = FIXED.get(found.name, "/dev/null/nonsense" if found.name != "platforms" else 3)
    if found.name == "compilation_cache_dir":
        wrong = "s3://bucket"
    if found.name == "compilation_cache_shared_dirs":
        wrong = ("s3://bucket",)
    for way in (found.set, found, lambda value: xs.config.update(found.name, value)):
        with pytest.raises(ValueError, match=found.name) as caught:
            way(wrong)
        assert "True" in str(caught.value) or found.values[:4] in str(caught.value) or "number" in str(caught.value)
    assert found.value == before


def test_the_older_name_of_64_bit_types():
    assert [xs.config.x64_enabled, xs.config.jax_enable_x64] == [False, False]
    with xs.enable_x64(True):
        assert xs.config.x64_enabled is True


def test_names_that_are_no_settings():
    for ask in (lambda: xs.config.jax_nothing, lambda: xs.config.read("nothing")):
        with pytest.raises(AttributeError, match=r"no setting named '(jax_)?nothing'; the settings are .*debug_nans"):
            ask()
    with pytest.raises(AttributeError, match="nothing"):
        xs.config.update("jax_nothing", 1)
    with pytest.raises(AttributeError, match=r"config.update\('jax_enable_x64', True\)"):
        xs.config.jax_enable_x64 = True
    with pytest.raises(TypeError, match="takes the new value"):
        xs.default_matmul_precision()


def test_names_of_jax(jax_says):
    ours = set(xs.config.values)
    known, defaults = jax_says(PROGRAMS.with_name("settings_names.py"), "names", platforms="")
    assert ours - set(known) == {
        "jax_jax2tf_associative_scan_reductions",  # jax: without jax_ in front
        *("jax_compare_programs", "jax_compilation_cache_shared_dirs"),  # these are ours alone
        *("jax_keep", "jax_program_wait_seconds", "jax_reroll"),
    }
    differ = {name for name in defaults if name in ours and xs.config.values[name] != defaults[name]}
    cache = {f"jax_{name}" for name in OF_THE_CACHE}
    assert differ - cache <= {
        "jax_platforms",  # jax: whatever was chosen
        "jax_traceback_filtering",  # the tests turn it off
    }


def test_being_off_leaves_nothing_in_the_key_of_calls():
    def key():
        return settings.boot.said_by_blocks.value, settings.boot.process_changes.value

    before = key()
    with xs.debug_nans(), xs.default_matmul_precision("high"):
        assert key() != before
    assert key() == before
    xs.config.update("debug_nans", xs.debug_nans.value)
    xs.config.update("log_compiles", False)  # nothing that a call depends on
    assert key() == before


@pytest.mark.parametrize(
    ("block", "traces"),
    [
        (lambda: xs.numpy_rank_promotion("raise"), 1),
        (lambda: xs.numpy_dtype_promotion("strict"), 1),
        (lambda: xs.default_matmul_precision("highest"), 1),
        (lambda: xs.threefry_partitionable(False), 1),
        (lambda: xs.enable_x64(), 1),
        (lambda: xs.debug_nans(), 0),
        (lambda: xs.log_compiles(), 0),
        (lambda: xs.transfer_guard("log"), 0),
        (lambda: xs.checking_leaks(), 0),
        (lambda: xs.default_device("cpu"), 0),
    ],
)
def test_functions_are_traced_again_only_for_settings_that_programs_depend_on(block, traces):
    count = []
    f = xs.jit(lambda x: (count.append(1), x + 1)[1])
    x = jnp.ones(3)
    f(x)
    for _ in range(2):
        with block():
            f(x)
        f(x)
    assert len(count) == 1 + traces


# The same as jax ------------------------------------------------------------------------------------------------------


def same(ours, theirs):
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    errors = {"DeletedArrayError": "RuntimeError", "XlaRuntimeError": "JaxRuntimeError"}
    for (name, found), (_, wanted) in zip(ours, theirs, strict=True):
        assert (errors.get(found, found) if isinstance(found, str) else found) == wanted, name


@pytest.mark.parametrize("table", ["all_of_precision", "all_of_promotion"])
def test_tables_agree_with_jax(table, programs, jax_says):
    theirs = jax_says(PROGRAMS, table)
    if made("order of cotangents"):
        theirs = [(name, _in_our_order(found)) for name, found in theirs]
    same(getattr(programs(PROGRAMS), table)(xs), theirs)


def _in_our_order(found):
    """The operands of a sum of cotangents as we have them."""
    if isinstance(found, str) or not isinstance(found[0], str):
        return found
    return (re.sub(r"add_any (\w+) (\w+)", r"add_any \2 \1", found[0]), *found[1:])


def test_devices_and_transfers_agree_with_jax(fresh_python, jax_says, monkeypatch):
    monkeypatch.setenv("XLASCOPE_NUM_CPU_DEVICES", "2")
    program = (
        f"import pickle, sys; sys.path.insert(0, {str(HERE)!r}); import settings_programs, xlascope as xs\n"
        "print(pickle.dumps(settings_programs.all_of_devices(xs)).hex())"
    )
    ours = pickle.loads(bytes.fromhex(fresh_python(program).split()[-1]))
    same(ours, jax_says(PROGRAMS, "all_of_devices", num_cpu_devices="2"))


# NaNs and infinities --------------------------------------------------------------------------------------------------


def twice_log(x):
    y = jnp.log(x)  # the line
    return y * 2


LINE = twice_log.__code__.co_firstlineno + 1


@xs.custom_jvp
def own_rule(x):
    return twice_log(x)


own_rule.defjvp(lambda primals, tangents: (own_rule(*primals), tangents[0]))

#: A program, the operation that has to be named, and what else the message says.
FAULTS = {
    "eager": (lambda: twice_log(jnp.float32(-1)), "log", f"test_settings.py:{LINE} .in twice_log.*its operand is -1.0"),
    "jit": (lambda: xs.jit(twice_log)(-1.0), "log", f":{LINE} .*operation of twice_log. Its result is nan"),
    "jit in jit": (
        lambda: xs.jit(lambda x: xs.jit(twice_log)(x) + 1)(-1.0),
        "log", f":{LINE} .*operation of twice_log, <lambda>",
    ),
    "vmap": (
        lambda: xs.vmap(twice_log)(jnp.arange(-1.0, 2)),
        "log", r"3 elements of its result 1 are nan; .*f32\[3\] between",
    ),
    "scan": (lambda: lax.scan(lambda c, x: (jnp.sqrt(c - x), c), 2.0, jnp.arange(5.0)), "sqrt", "step 2 of scan"),
    "scan backwards, in jit": (
        lambda: xs.jit(lambda xs: lax.scan(lambda c, x: (c + twice_log(x), c), 2.0, xs, reverse=True))(
            jnp.arange(-1.0, 3)
        ),
        "log", f":{LINE} .*step 0 of scan, <lambda>",
    ),
    "while": (
        lambda: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, twice_log(c[1])), (0, 2.0)),
        "log", f":{LINE} .*step 3 of while. .* -",
    ),
    "cond": (lambda: lax.cond(True, twice_log, lambda x: x, -1.0), "log", f":{LINE} .*branch 1 of cond"),
    "grad": (lambda: xs.grad(lambda x: jnp.sqrt(x) * 0.0)(0.0), "mul", "operands are 0.0, inf"),
    "jit of grad": (
        lambda: xs.jit(xs.grad(lambda x: jnp.where(x > 0, jnp.sqrt(x) * 0.0, 0.0)))(0.0),
        "mul", "in the backward pass",
    ),
    "grad of scan": (
        lambda: xs.grad(lambda y: lax.scan(lambda c, x: (jnp.sqrt(c * x), c), y, jnp.arange(3.0))[0])(1.0),
        "mul", "in the backward pass. .*step 0 of scan",
    ),
    "custom rule": (lambda: xs.jit(own_rule)(-1.0), "log", f":{LINE} "),
    "checkpoint": (lambda: xs.jit(xs.checkpoint(twice_log))(-1.0), "log", f":{LINE} "),
    "several operations": (lambda: jnp.var(jnp.array([np.inf, 1.0])), "sub", "operation of var"),
    "donated": (lambda: xs.jit(twice_log, donate_argnums=0)(jnp.float32(-1)), "log", f":{LINE} "),
    "bfloat16": (lambda: jnp.bfloat16(0) / jnp.bfloat16(0), "div", "nan"),
    "complex": (lambda: jnp.log(jnp.complex64(0)) * 0, "mul", "inf"),
    "compiled ahead": (lambda: xs.jit(twice_log).lower(1.0).compile()(-1.0), "log", f":{LINE} "),
    "an argument": (lambda: xs.jit(lambda y: y + 1)(np.array([1, np.nan], "float32")), "<lambda>", "argument y"),
    "a constant": (lambda: (lambda c: xs.jit(lambda y: y + c)(1.0))(jnp.asarray([np.nan])), "<lambda>", "closes over"),
    "a result": (lambda: xs.jit(lambda: jnp.nan)(), "<lambda>", "a number that it returns"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_operation_that_makes_a_nan_is_named(name):
    program, operation, words = FAULTS[name]
    with xs.debug_nans(), pytest.raises(FloatingPointError, match=rf"\(nan\) encountered in {operation} at .*{words}"):
        program()
    program()  # off again


def test_nans_that_do_not_reach_a_result_are_left_alone():
    masked = xs.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))
    with xs.debug_nans():
        assert masked(-1.0) == 0.0
        assert jnp.arange(3)[1] == 1
        assert not jnp.isnan(xs.jit(twice_log)(2.0))


def test_the_operation_that_makes_an_infinity_is_named():
    with xs.debug_infs():
        with pytest.raises(FloatingPointError, match=rf"\(inf\) encountered in log at .*:{LINE} "):
            xs.jit(twice_log)(0.0)
        assert jnp.isnan(twice_log(jnp.float32(-1)))  # no infinity
        assert jnp.max(jnp.ones(3), initial=-np.inf) == 1


def test_calls_that_were_made_before_are_looked_at_too():
    f, x = xs.jit(twice_log), jnp.float32(-1)
    assert jnp.isnan(f(x)) and jnp.isnan(f(x))
    for _ in range(2):
        with xs.debug_nans(), pytest.raises(FloatingPointError):
            f(x)
        assert jnp.isnan(f(x))


def test_looking_for_a_nan_leaves_the_thread_as_it_was():
    def f(x):
        with pytest.raises(FloatingPointError):
            xs.jit(twice_log)(-1.0 * jnp.ones(()))
        return x * x

    with xs.debug_nans():
        assert xs.grad(f)(3.0) == 6.0
        assert xs.debug_nans.value
    assert not xs.debug_nans.value


# The other switches ---------------------------------------------------------------------------------------------------


def test_compilations_are_logged_in_jaxs_words(caplog):
    with caplog.at_level(logging.WARNING), xs.log_compiles():
        xs.jit(twice_log)(np.ones(3, "float32"))
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("xlascope")]
    assert len(lines) == 4 and all(record.levelno == logging.WARNING for record in caplog.records)
    for line, words in zip(
        lines,
        [
            "Finished tracing twice_log for jit in ",
            "Compiling jit(twice_log) with global shapes and types [ShapedArray(float32[3])]",
            "Finished jaxpr to MLIR module conversion jit(twice_log) in ",
            "Finished XLA compilation of jit(twice_log) in ",
        ],
        strict=True,
    ):
        assert line.startswith(words)
    caplog.clear()
    xs.jit(lambda x: x + 5)(1.0)
    assert not caplog.records


def test_why_a_function_is_traced_again_names_the_setting(caplog):
    f = xs.jit(lambda x: x + 1)
    f(1.0)
    with caplog.at_level(logging.WARNING), xs.explain_cache_misses(), xs.numpy_rank_promotion("raise"):
        f(1.0)
    assert "a setting changed: () → ('numpy_rank_promotion=raise',)" in caplog.text


def test_no_tracing_and_no_execution():
    f = xs.jit(lambda x: x + 1)
    x = jnp.ones(3)
    f(x)
    with xs.no_tracing():
        f(x)
        with pytest.raises(RuntimeError, match=r"would have to be traced at .*test_settings.py:.*no_tracing is set"):
            f(1)
    with xs.no_execution():
        for run in (lambda: f(x), lambda: jnp.sin(x)):
            with pytest.raises(RuntimeError, match="would have to run, and no_execution is set"):
                run()
        assert f.lower(1.0) is not None
    assert f(x)[0] == 2


def test_traced_programs_are_checked(monkeypatch):
    seen = []
    monkeypatch.setattr("xlascope.trace.checks.check_jaxpr", seen.append)
    xs.make_jaxpr(jnp.sin)(1.0)
    assert not seen
    with xs.enable_checks():
        xs.make_jaxpr(jnp.sin)(1.0)
    assert [program.name for program in seen] == ["sin"]


def test_clearing_caches_forgets_traces_executables_and_operations():
    count = []
    f = xs.jit(lambda x: (count.append(1), x + 1)[1])
    x = jnp.ones(3)
    f(x)
    xs.clear_caches()
    assert f._cache_size() == 0
    assert f(x)[0] == 2 and x[1] * 2 == 2
    assert len(count) == 2


def test_live_arrays_are_whole():
    """The parts of one on several devices, which jaxlib makes to look at them, are not among them."""
    spread = xs.device_put(np.ones((7, 5)), xs.sharding.NamedSharding(xs.make_mesh((1,), ("x",)), xs.P("x")))
    before = len(xs.live_arrays())
    assert spread.addressable_shards[0].data.shape == (7, 5)
    found = xs.live_arrays()
    assert len(found) <= before and all(a.nbytes >= 0 for a in found) and any(a is spread for a in found)


def test_live_arrays_are_those_that_were_not_deleted():
    gc.collect()
    x = jnp.ones((7, 3)) * 3
    shapes = [a.shape for a in xs.live_arrays()]
    assert (7, 3) in shapes
    x.delete()
    assert x.is_deleted()
    assert [a.shape for a in xs.live_arrays("cpu")].count((7, 3)) < shapes.count((7, 3))
    with pytest.raises(RuntimeError, match="no backend named 'nonsense'"):
        xs.live_arrays("nonsense")


def test_the_table_of_the_page_is_the_settings(root):
    page = (root / "docs/settings.md").read_text()
    for found in settings.all_settings():
        assert f"| `{found.name}` | {found.values} | {found.meaning} |" in page.replace("\\|", "|"), found.name
