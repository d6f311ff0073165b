"""Blocks of settings under threads, in any order of leaving, and under asyncio: what counts is right, or an error."""

import asyncio
import contextlib
import contextvars
import random
import sys
import threading

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import settings
from xlascope.runtime import boot

X = np.ones((2, 2), np.float32)


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = {found.name: found.value for found in settings.all_settings()}
    yield
    assert {found.name: found.value for found in settings.all_settings()} == before
    assert boot.said_by_blocks.value == () and not boot.trace_settings.value
    assert boot.post_hook.get_local() is boot.UNSET


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def precision_of(product):
    text = str(product)
    return next((name for name in ("HIGHEST", "HIGH") if name in text), None)


# Threads --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [xs.numpy_rank_promotion("raise"), xs.debug_nans(), xs.default_device("cpu")])
def test_a_block_does_not_hide_what_another_thread_sets_for_the_process(block):
    runs = []
    f = xs.jit(lambda a: (runs.append(xs.default_matmul_precision.value), a @ a)[1])
    try:
        with block:
            f(X), f(X)
            in_thread(lambda: xs.config.update("default_matmul_precision", "highest"))
            f(X), f(X)
            assert precision_of(f.lower(X).as_text()) == "HIGHEST"
            assert precision_of(xs.make_jaxpr(lambda a: a @ a)(X)) == "HIGHEST"
        f(X)
        assert runs[:2] == [None, "highest"]
    finally:
        xs.config.update("default_matmul_precision", None)


def test_a_block_does_not_hide_checks_that_another_thread_turns_on():
    f = xs.jit(jnp.log)
    try:
        with xs.debug_infs(False):
            assert np.isnan(f(-1.0))
            in_thread(lambda: xs.config.update("debug_nans", True))
            with pytest.raises(FloatingPointError):
                f(-1.0)
    finally:
        xs.config.update("debug_nans", False)


@pytest.mark.parametrize("how", ["jit", "scan"])
def test_a_trace_during_which_the_process_changed_is_not_kept(how):
    """It may be half of the one and half of the other."""
    changes = iter(["highest", None])

    def body(a):
        first = a @ a
        now = next(changes, "done")
        if now != "done":
            in_thread(lambda: xs.config.update("default_matmul_precision", now))
        return first @ first

    def looped(c, a):
        return body(c), None

    call = xs.jit(body) if how == "jit" else lambda a: xs.lax.scan(looped, a, X[None])
    text = (lambda: call.lower(X).as_text()) if how == "jit" else lambda: xs.make_jaxpr(call)(X)
    try:
        call(X), call(X)
        assert xs.default_matmul_precision.value is None
        assert precision_of(text()) is None
    finally:
        xs.config.update("default_matmul_precision", None)


def test_what_is_made_while_a_setting_changes_is_not_kept_by_it(monkeypatch):
    """Neither what began before the change, nor what began while it was under way."""
    begun = boot.process_changes.value
    assert boot.unchanged_since(begun)
    under_way = []
    monkeypatch.setattr(boot._trace_settings, "note_process", lambda: under_way.append(boot.process_changes.value))
    xs.config.update("default_matmul_precision", "high")
    monkeypatch.undo()
    xs.config.update("default_matmul_precision", None)
    assert not any(map(boot.unchanged_since, [begun, *under_way])) and under_way[0] % 2 == 1
    boot.forget_calls()
    assert boot.unchanged_since(boot.process_changes.value)


def test_threads_with_blocks_of_their_own_while_the_process_changes():
    """Each call has the settings of its thread's blocks, and the process's of before or after a change."""
    wrong, ends = [], threading.Event()
    f = xs.jit(lambda a: jnp.asarray(a, float) @ jnp.ones((2, 2)))

    def hammer(seed):
        chance = random.Random(seed)
        try:
            while not ends.is_set():
                wide, ranks = chance.random() < 0.5, chance.choice(["allow", "raise"])
                with xs.enable_x64(wide), xs.numpy_rank_promotion(ranks):
                    for _ in range(3):
                        found = f(X)
                        if found.dtype != (np.float64 if wide else np.float32):
                            wrong.append(("width", wide, found.dtype))
                        with contextlib.suppress(ValueError):
                            jnp.ones(2) + jnp.ones((2, 2))
                            if ranks == "raise":
                                wrong.append("ranks")
                        if xs.debug_infs.value != boot.debug_infs.get_global():
                            wrong.append("read")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for number in range(300):
            xs.config.update("default_matmul_precision", ["highest", None, "high"][number % 3])
    finally:
        ends.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
        xs.config.update("default_matmul_precision", None)
    assert wrong == []
    assert precision_of(f.lower(X).as_text()) is None


def test_the_process_is_what_the_last_of_many_threads_set():
    def change(state, values):
        for value in values * 50:
            state.set(value)

    table = {
        xs.numpy_rank_promotion: ["raise", "warn"],
        xs.default_matmul_precision: ["high", "highest"],
        xs.numpy_dtype_promotion: ["standard", "strict"],
    }
    threads = [threading.Thread(target=change, args=row) for row in table.items()]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = ("default_matmul_precision=highest", "numpy_rank_promotion=warn", "numpy_dtype_promotion=strict")
        assert boot.trace_settings.value == found
    finally:
        for state, first in zip(table, ("allow", None, "standard"), strict=True):
            state.set(first)


# Any order of leaving -------------------------------------------------------------------------------------------------


def held(block):
    with block:
        yield


def opened(block):
    generator = held(block)
    next(generator)
    return generator


VALUES = [None, "default", "high", "highest"]


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_left_in_any_order(seed):
    """What counts is the innermost of those that are open."""
    chance = random.Random(seed)
    blocks: list = []
    for step in range(60):
        if blocks and (chance.random() < 0.5 or step > 45):
            blocks.pop(chance.randrange(len(blocks)))[1].close()
        else:
            value = chance.choice(VALUES)
            blocks.append((value, opened(xs.default_matmul_precision(value))))
        wanted = blocks[-1][0] if blocks else None
        assert xs.default_matmul_precision.value == wanted
        assert boot.settings_of_traces() == (() if wanted is None else (f"default_matmul_precision={wanted}",))


def test_guards_overlap_with_the_one_that_stands_for_all():
    everything, one = opened(xs.transfer_guard("log")), opened(xs.transfer_guard_host_to_device("disallow"))
    assert xs.transfer_guard.value is None and xs.transfer_guard_device_to_host.value == "log"
    everything.close()
    assert xs.transfer_guard_host_to_device.value == "disallow" and xs.transfer_guard_device_to_host.value is None
    one.close()
    assert xs.transfer_guard.value is None


def test_stacks_that_overlap_and_an_error_in_one():
    f = xs.jit(lambda a: a @ a)
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    first.enter_context(xs.default_matmul_precision("highest"))
    second.enter_context(xs.enable_x64())
    second.enter_context(xs.default_matmul_precision("high"))
    with pytest.raises(ZeroDivisionError), first:
        raise ZeroDivisionError
    assert precision_of(f.lower(X).as_text()) == "HIGH" and jnp.ones(1).dtype == np.float64
    second.close()
    assert precision_of(f.lower(X).as_text()) is None and jnp.ones(1).dtype == np.float32


def test_a_generator_that_is_dropped_ends_its_block():
    opened(xs.debug_nans())
    assert not xs.debug_nans.value


def test_a_block_that_ends_in_another_thread_ends():
    generator = opened(xs.debug_nans())
    in_thread(generator.close)
    with xs.debug_infs():  # the thread looks again
        assert not xs.debug_nans.value
    assert not xs.debug_nans.value


def test_a_block_decorates_a_function():
    @xs.default_matmul_precision("highest")
    def text():
        return precision_of(xs.make_jaxpr(lambda a: a @ a)(X))

    assert [text(), text(), xs.default_matmul_precision.value] == ["HIGHEST", "HIGHEST", None]


# asyncio --------------------------------------------------------------------------------------------------------------

f = xs.jit(lambda a: a @ a)


def together(*tasks):
    async def main():
        return await asyncio.gather(*(task() for task in tasks), return_exceptions=True)

    return asyncio.run(main())


async def holding():
    with xs.default_matmul_precision("highest"):
        f(X)
        await asyncio.sleep(0.02)
        return xs.default_matmul_precision.value


#: What another task may do meanwhile, none of which may go by the settings of the first.
MEANWHILE = {
    "a jitted function": lambda: f(X),
    "an operation": lambda: jnp.sin(X),
    "a trace": lambda: xs.make_jaxpr(lambda a: a @ a)(X),
    "shapes": lambda: xs.eval_shape(lambda a: a @ a, X),
    "lowering": lambda: xs.jit(lambda a: a @ a).lower(X),
    "compiled ahead": (lambda compiled: lambda: compiled(X))(f.lower(X).compile()),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_task_never_goes_by_a_block_of_another(name):
    async def other():
        await asyncio.sleep(0.001)
        assert xs.default_matmul_precision.value is None  # what is read is its own
        with pytest.raises(
            RuntimeError, match=r"default_matmul_precision\('highest'\) at .*test_settings_blocks.py:\d+ "
        ):
            MEANWHILE[name]()
        return precision_of(f.lower(X).as_text())  # from here on the settings are its own

    assert together(holding, other) == ["highest", None]


def test_a_task_that_comes_back_never_goes_by_a_block_of_another():
    async def coming_back():
        with xs.default_matmul_precision("highest"):
            await asyncio.sleep(0.02)
            with pytest.raises(RuntimeError, match="left open across an await"):
                f(X)
            return precision_of(f.lower(X).as_text())

    async def other():
        await asyncio.sleep(0.001)
        with xs.default_matmul_precision("high"):
            f(X)
            await asyncio.sleep(0.04)

    assert together(coming_back, other) == ["HIGHEST", None]


async def waiting(then=lambda: None):
    await asyncio.sleep(0.001)
    return then()


@xs.default_matmul_precision("highest")
def in_a_block():
    return precision_of(f.lower(X).as_text())


#: Tasks that overlap and get along: what they set is the same, or nothing is computed meanwhile.
GETTING_ALONG = {
    "the same values": ([holding, holding], ["highest", "highest"]),
    "nothing computed": ([holding, waiting], ["highest", None]),
    "a block of its own": ([holding, lambda: waiting(in_a_block)], ["highest", "HIGHEST"]),
}


@pytest.mark.parametrize("name", GETTING_ALONG)
def test_tasks_that_get_along(name):
    tasks, wanted = GETTING_ALONG[name]
    assert together(*tasks) == wanted


def test_a_task_made_in_a_block_is_in_it():
    async def main():
        async def child():
            await asyncio.sleep(0.001)
            f(X)
            return precision_of(f.lower(X).as_text())

        with xs.default_matmul_precision("highest"):
            return await asyncio.gather(child(), child())

    assert asyncio.run(main()) == ["HIGHEST", "HIGHEST"]
    with xs.default_matmul_precision("highest"):
        assert together(lambda: waiting(lambda: precision_of(f.lower(X).as_text()))) == ["HIGHEST"]


@pytest.mark.parametrize("how", ["cancelled", "raising"])
def test_a_task_that_ends_early_leaves_nothing(how):
    async def main():
        async def ending():
            with xs.debug_nans():
                await asyncio.sleep(10 if how == "cancelled" else 0)
                raise ZeroDivisionError

        task = asyncio.create_task(ending())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not xs.debug_nans.value
        return float(f(X)[0, 0])

    assert asyncio.run(main()) == 2.0


def test_a_block_that_a_task_leaves_for_good_counts_for_the_thread():
    """As for those who open one in a notebook's cell and go on in the next."""
    stack = contextlib.ExitStack()

    async def opening():
        stack.enter_context(xs.default_matmul_precision("highest"))

    async def main():
        await asyncio.create_task(opening())
        f(X)
        return precision_of(f.lower(X).as_text())

    assert asyncio.run(main()) == "HIGHEST"
    stack.close()


def test_a_thread_of_a_task_has_no_blocks_but_its_own():
    async def main():
        with xs.debug_nans():
            return await asyncio.to_thread(lambda: (xs.debug_nans.value, float(f(X)[0, 0])))

    assert asyncio.run(main()) == (False, 2.0)
    with xs.debug_nans():
        context = contextvars.copy_context()
    assert not context.run(lambda: xs.debug_nans.value)


def test_whoever_counts_calls_goes_on_counting():
    f(X)
    together(holding)  # what compiles is counted elsewhere
    counted = []
    boot.post_hook.set_global(lambda function, *call: counted.append(function))
    try:
        f(X)
        together(holding)
    finally:
        boot.post_hook.set_global(None)
    assert counted == [f, f]


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        (lambda w, i: 2 * w, [0.2, 0.6]),
        (lambda w, i: w + 1, [1.1, 1.3]),
        (lambda w, i: 0.1 - w, [0.0, -0.2]),
        (lambda w, i: w > 0.2, [False, True]),
        (lambda w, i: xs.jit(lambda w: 2 * w)(w), [0.2, 0.6]),
        (lambda w, i: xs.vmap(lambda w: w / 2)(w), [0.05, 0.15]),
        (lambda w, i: i * 2, [2**41, 6]),
        (lambda w, i: 1 - i, [1 - 2**40, -2]),
    ],
)
def test_wide_arrays_and_numbers_after_their_block(expression, answer):
    with xs.enable_x64(True):
        w, i = jnp.array([0.1, 0.3]), jnp.array([2**40, 3])
    for _ in range(4):
        found = expression(w, i)
        assert found.dtype.itemsize in (1, 8)
        np.testing.assert_allclose(found, answer, rtol=1e-15, atol=1e-16)
