"""Caches with a bound: what was used last stays, and equal types stay one object."""

import ast
import gc
import json
import os
import random
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from jaxlib import _jax
from tests import compiling

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.ir import avals
from xlascope.ir.avals import make_aval
from xlascope.lru_cache import FastLRUCache, LRUCache, get_or_create
from xlascope.xla.execution import eager, executables
from xlascope.xla.mlir import builder

F32 = np.dtype("float32")


@pytest.mark.parametrize("kind", [FastLRUCache, LRUCache])
def test_what_is_used_stays_and_there_is_a_bound(kind):
    kept = kind(10)
    made = []

    def value(key):
        found = kept.get(key) or kept.promote(key)
        if found is None:
            made.append(key)
            found = kept.insert(key, -key)
        return found

    for key in range(1, 1000):
        assert value(key) == -key
        assert value(1) == -1
        assert len(kept.all()) <= 20
    assert made == list(range(1, 1000))
    assert set(range(991, 1000)) <= set(kept.all())
    kept.clear()
    assert not kept.all() and value(3) == -3


def test_a_recent_mapping_is_a_mapping():
    kept = LRUCache(3)
    wanted = {}
    chance = random.Random(1)
    for _ in range(300):
        key, value = chance.randrange(8), chance.random()
        kept[key] = value
        wanted[key] = value
        assert key in kept and kept[key] == kept.get(key) == value
        for other, found in kept.all().items():
            assert found == wanted[other]
        assert len(kept.all()) <= 6
    with pytest.raises(KeyError):
        kept["nothing"]
    assert kept.get("nothing") is None and kept.get("nothing", 5) == 5 and "nothing" not in kept


def test_owners_used_last_are_kept_and_each_as_long_as_it_lives():
    class Owner:
        pass

    table = weakref.WeakKeyDictionary()
    owners = [Owner() for _ in range(9)]
    first = get_or_create(table, owners[0], dict, 4)
    for owner in owners:
        get_or_create(table, owner, dict, 4)
        assert get_or_create(table, owners[0], dict, 4) is first
    assert len(table) == 4 and owners[-1] in table
    owners.clear()
    del owner
    gc.collect()
    assert not table


# Types ----------------------------------------------------------------------------------------------------------------


def test_a_type_that_somebody_holds_stays_the_one_however_many_others_there_are(monkeypatch):
    monkeypatch.setattr(avals._recent_avals, "generation_size", 10)
    held = [make_aval((n, 987), F32) for n in range(5)]
    for n in range(100):
        make_aval((n, 986), F32)
    assert [make_aval((n, 987), F32) for n in range(5)] == held
    forgotten = weakref.ref(make_aval((3, 986), F32))
    for n in range(100):
        make_aval((n, 985), F32)
    gc.collect()
    assert forgotten() is None


def test_threads_that_ask_for_one_type_get_one_object(monkeypatch):
    monkeypatch.setattr(avals._recent_avals, "generation_size", 3)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    found: list[list] = [[] for _ in range(4)]
    start = threading.Barrier(4)

    def ask(number):
        start.wait()
        for n in range(2000):
            found[number].append(make_aval((n % 50, 984), F32))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len({id(aval) for row in found for aval in row}) == 50


def test_programs_are_right_while_types_are_forgotten(monkeypatch):
    monkeypatch.setattr(avals._recent_avals, "generation_size", 2)
    f = xs.jit(xs.grad(lambda x: jnp.sum(jnp.sin(x) * x + jnp.max(x))))
    for n in range(1, 6):
        x = np.linspace(0.0, 1.0, n, dtype="float32")
        wanted = np.cos(x) * x + np.sin(x) + n * (x == x.max())
        np.testing.assert_allclose(f(x), wanted, rtol=1e-5)
        np.testing.assert_allclose(xs.vmap(f)(np.stack([x, x]))[1], wanted, rtol=1e-5)


def test_many_modules_are_written_in_several_contexts_and_by_several_threads(monkeypatch):
    monkeypatch.setattr(builder, "_MAX_MODULES_PER_CONTEXT", 3)
    texts, contexts, wrong = set(), [], []

    def write(number):
        try:
            for n in range(1, 9):
                module = xs.jit(lambda x, n: jnp.sum(jnp.sin(x)) + n).lower(xs.ShapeDtypeStruct((n, number), F32), 1)
                texts.add(module.as_text())
                contexts.append(builder.context())  # held: its id stays taken
                assert float(xs.jit(lambda x: jnp.sum(x) * 2.0)(np.ones((n, number), F32))) == 2.0 * n * number
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(texts) == 24
    assert len({id(context) for context in contexts}) > 3


# All caches -----------------------------------------------------------------------------------------------------------

#: What stands empty at the top of a module, to be added to, and has no bound of its own: why it needs none.
GROWING = {
    "control/rules/arguments._signatures": "weak: wrappers that are alive and have rules",
    "panes/__init__._encoders": "one for each pane",
    "control/jit/donation._already_warned": "ends at 1,000",
    "control/jit/trace_cache._traces_by_function": "get_or_create: 1,024 functions, as long as they live",
    "control/programs/function_staging._bodies_by_function": "get_or_create: 1,024 functions, as long as they live",
    "control/programs/composite._decompositions": "get_or_create: 256 functions, whose values lead back to them",
    "inspect/renderers._registered": "one of each form of file",
    "inspect/producers._registered": "one of each library that registers",
    "inspect/values.value_listeners": "one of each notebook that has the extension, which takes itself out",
    "inspect/watch_values._running": "one of each function whose values are watched, until its block ends",
    "inspect/running/engines._subscribers": "those that watch, who take themselves out",
    "inspect/running/engines._registered": "one of each engine in the process",
    "operations/comparisons.KEY_COMPARISONS": "two, of the module of typed keys",
    "ir/operation._registry": "one of each class of operations, which is there anyway",
    "xla/processes/terminate_handler._installed_handlers": "one of each job, of which a process joins one",
    "ir/user_frames.title_providers": "one of each extension that is loaded",
    "ir/user_frames.source_restorers": "one of each extension that is loaded, which takes itself out",
    "numpy/indexing._device_indices": "ends at 1,024",
    "numpy/promotion._weak_kinds": "two of each dtype",
    "operations/operand_values._INTEGER_RANGES": "one of each dtype",
    "records/stage_spans.span_listeners": "those that keep an account, who take themselves out",
    "records/subscriptions.late": "one of each engine that is watched, which takes itself out",
    "records/watchers.watchers": "those that watch, who take themselves out",
    "settings._TABLE": "one of each setting",
    "xla/cache/cache_folder._warned": "three of each folder that a user sets",
    "xla/lowering/callbacks._failures": "ends at 100",
    "xla/platforms/platform_selection._default_platforms": "one of each value of a setting",
    "xla/platforms/platform_selection._clients": "one of each platform",
    "xla/platforms/fork_safety._leaked_arrays": "the living arrays, while the process forks",
    "xla/platforms/platform_selection._factories": "one of each platform that was registered",
    "xla/platforms/platform_selection._first_devices": "one of each platform",
    "xla/sharding/single_device._shardings": "one of each device",
    "__init__._loaded": "one of each shell",
    "control/jit/events.call_listeners": "those that watch, who take themselves out",
    "control/jit/events.unrun_call_listeners": "those that watch, who take themselves out",
    "control/jit/events.dispatch_listeners": "those that watch, who take themselves out",
    "xla/processes/failure_state.exit_listeners": "those that watch a script, who take themselves out",
    "runtime/array_spans._installed": "one of each function of jaxlib that is replaced while a thread is watched",
    "runtime/array_spans._receivers": "one of each watched thread, until it is watched no more",
    "runtime/jax_coexistence._callbacks": "a few of each module of jax that something waits for",
    "runtime/jax_coexistence._set_attribute": "one of each module of jax that sets attributes of arrays",
    "runtime/post_hooks._hooks": "one of each engine in the process",
    "xla/cache/background_compilation._abandoned": "a few interrupted compilations",
    "xla/devices/array_patching._xlascope_members": "one of each attribute of arrays",
    "xla/devices/array_patching._installed_members": "one of each attribute of arrays",
    "xla/devices/array_patching._jax_members": "one of each attribute of arrays",
    "xla/system/worker_thread._idle_workers": "threads that wait: as many as ever compiled at once",
    "xla/system/worker_thread._running_tasks": "what the compiler works on, until it is done",
}
FOLDERS = ("core/xlascope", "kernel_ext/xlascope_ipython", "kernel_ext/xlascope_jax", "widgets/xlascope_widgets")
TABLES = {"set", "dict", "WeakKeyDictionary", "OrderedDict", "defaultdict"}


def is_empty_table(value):
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List):
        return not value.elts
    made = getattr(value.func, "attr", getattr(value.func, "id", "")) if isinstance(value, ast.Call) else ""
    return made in TABLES and not value.args


def at_the_top(root):
    """What stands at the top of our modules, each with its module's name."""
    for package in FOLDERS:
        for path in sorted((root / package).rglob("*.py")):
            module = path.relative_to(root / package).with_suffix("").as_posix()
            yield from ((module, node) for node in ast.parse(path.read_text()).body)


def growing(nodes):
    """The empty tables and lists."""
    for module, node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_empty_table(node.value):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield f"{module}.{target.id}"


def unbounded(nodes):
    """Functions that remember without a bound what they were asked for; those without parameters remember one thing."""
    for module, node in nodes:
        marks = {ast.unparse(mark) for mark in getattr(node, "decorator_list", ())}
        if {"cache", "functools.cache", "functools.lru_cache(maxsize=None)"} & marks and node.args.args:
            yield f"{module}.{node.name}"


#: What functions remember for as many arguments as there are, and why these are few.
REMEMBERING = {
    "dtypes._least_upper_bound": "sets of dtypes",
    "operations/formula_operations._cached_operation": "formulas of special functions, which modules define",
    "records/store._decoder": "types of fields of records",
    "records/store._fields": "classes of records",
    "records/store._names": "classes of records",
    "bridge/ceilings.measure_ceilings": "devices",
    "xla/profiling/measured_ceilings.measure_ceilings": "devices",
    "xla/cache/persistent_cache._folder_at": "folders that a user sets",
    "xla/cache/persistent_cache._shared_folder_at": "the same",
    "xla/cache/persistent_cache._warn_cannot_serialize": "platforms",
    "xla/cache/persistent_cache.compilation_environment": "devices",
}


def test_every_table_that_grows_has_a_bound_or_a_reason(root):
    """A new one is a Recent or a LRUCache, or says here why it needs no bound."""
    nodes = list(at_the_top(root))
    assert set(growing(nodes)) == set(GROWING)
    assert set(unbounded(nodes)) == set(REMEMBERING)


# Days -----------------------------------------------------------------------------------------------------------------

LONG = Path(__file__).parent / "robustness/many.py"


def grown(what, count):
    """By how many megabytes a process grows in the first and in the second half of so many uses."""
    environment = {**os.environ, **compiling.quickly(keep=False), "XLASCOPE_ENABLE_COMPILATION_CACHE": "0"}
    command = [sys.executable, str(LONG), what, str(count)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=2900, text=True)
    assert done.returncode == 0, done.stderr
    print(what, count, done.stdout)
    return json.loads(done.stdout)


#: What is done, how often, and how many megabytes it may take: of caches that fill, and after that.
USES = {
    "shapes": (5_000, 12, 12),
    "functions": (200, 30, 8),
}
MANY_USES = {
    "shapes": (100_000, 40, 8),
    "batches": (20_000, 120, 60),
    "lowered": (20_000, 40, 12),
    "functions": (10_000, 300, 150),
}
needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the memory in use from /proc")


@needs_proc
@pytest.mark.parametrize("what", USES)
def test_memory_stays_below_a_ceiling(what):
    count, first, second = USES[what]
    halves = grown(what, count)
    assert halves[0] < first and halves[1] < second, halves


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("what", MANY_USES)
def test_memory_stays_below_a_ceiling_for_days(what):
    count, first, second = MANY_USES[what]
    halves = grown(what, count)
    assert halves[0] < first and halves[1] < second, halves


def test_programs_of_single_operations_have_one_bound_together(monkeypatch):
    """jaxlib keeps the last ones used of all operations, and gives each its own again without compiling."""
    assert eager._pjit_cache.capacity() == eager._MAX_EAGER_PROGRAMS
    programs = _jax.PjitFunctionCache(8)
    monkeypatch.setattr(eager, "_pjit_cache", programs)
    eager._compiled_ops.clear()
    try:
        compiled = []
        monkeypatch.setattr(executables, "compile_program", _counted(executables.compile_program, compiled))
        x = jnp.asarray(np.ones(101, np.float32))
        for _ in range(2):
            for size in range(200, 220):
                assert float(x[0] * 3.0) == 3.0 and (jnp.asarray(np.ones(size, np.float32)) * 3.0).shape == (size,)
                assert programs.size() <= 8
        assert x.shape == (101,) and len(compiled) < 50, "what is used all the time stays"
    finally:
        eager._compiled_ops.clear()


def _counted(function, calls):
    def counted(*args, **kwargs):
        calls.append(args)
        return function(*args, **kwargs)

    return counted
