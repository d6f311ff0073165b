"""What reaches the user shows the user's frames: what is kept, what is removed, and how to see it all."""

import os
import subprocess
import sys
import traceback
from collections.abc import Iterator

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.ir.user_frames import is_library
from xlascope.settings import setting
from xlascope.trace.traceback_filtering import NOTE, api_boundary, filter_traceback


@pytest.fixture(autouse=True)
def as_users_have_it() -> Iterator[None]:
    """Tests show all frames otherwise; see the conftest."""
    with setting("traceback_filtering", "auto"):
        yield


def broken(x):
    return 1 // 0 * x


def asks(x):
    return x if x > 0 else -x


def frames(error: BaseException) -> list[str]:
    """The functions in a traceback, those of the library in brackets."""
    found = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        found.append(f"[{code.co_name}]" if is_library[code.co_filename] else code.co_name)
    return found


@xs.custom_jvp
def with_rule(x):
    return broken(x)


@xs.custom_vjp
def with_pullback(x):
    return broken(x)


with_rule.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
with_pullback.defvjp(lambda x: (x, None), lambda residual, cotangent: (cotangent,))
ONES = np.ones(3, np.float32)

# (what users do, the functions of theirs that its traceback shows below the one that does it)
CALLS = [
    (lambda: xs.jit(broken)(1.0), ["broken"]),
    (lambda: xs.jit(xs.jit(broken))(1.0), ["broken"]),
    (lambda: xs.jit(broken).lower(1.0), ["broken"]),
    (lambda: xs.jit(broken).trace(1.0), ["broken"]),
    (lambda: xs.jit(broken).eval_shape(1.0), ["broken"]),
    (lambda: xs.grad(broken)(1.0), ["broken"]),
    (lambda: xs.value_and_grad(broken)(1.0), ["broken"]),
    (lambda: xs.jit(xs.grad(xs.grad(broken)))(1.0), ["broken"]),
    (lambda: xs.vmap(broken)(ONES), ["broken"]),
    (lambda: xs.vmap(xs.grad(broken))(ONES), ["broken"]),
    (lambda: xs.jvp(broken, (1.0,), (1.0,)), ["broken"]),
    (lambda: xs.vjp(broken, 1.0), ["broken"]),
    (lambda: xs.linearize(broken, 1.0), ["broken"]),
    (lambda: xs.jacfwd(broken)(1.0), ["broken"]),
    (lambda: xs.jacrev(broken)(1.0), ["broken"]),
    (lambda: xs.hessian(broken)(1.0), ["broken"]),
    (lambda: xs.make_jaxpr(broken)(1.0), ["broken"]),
    (lambda: xs.eval_shape(broken, 1.0), ["broken"]),
    (lambda: xs.linear_transpose(broken, 1.0)(1.0), ["broken"]),
    (lambda: xs.checkpoint(broken)(1.0), ["broken"]),
    (lambda: xs.lax.scan(lambda c, x: (broken(c), x), 1.0, ONES), ["<lambda>", "broken"]),
    (lambda: xs.lax.fori_loop(0, 3, lambda i, x: broken(x), 1.0), ["<lambda>", "broken"]),
    (lambda: xs.lax.while_loop(lambda x: True, broken, 1.0), ["broken"]),
    (lambda: xs.lax.cond(True, broken, broken, 1.0), ["broken"]),
    (lambda: xs.lax.switch(0, [broken, asks], 1.0), ["broken"]),
    (lambda: xs.lax.map(broken, ONES), ["broken"]),
    (lambda: xs.lax.associative_scan(lambda x, y: broken(x), ONES), ["<lambda>", "broken"]),
    (lambda: xs.jit(with_rule)(1.0), ["with_rule", "broken"]),
    (lambda: with_pullback(1.0), ["with_pullback", "broken"]),
    (lambda: xs.jit(asks)(1.0), ["asks"]),
    (lambda: xs.jit(lambda x: xs.vmap(asks)(x))(ONES), ["<lambda>", "asks"]),
    (lambda: xs.jit("text"), []),
    (lambda: xs.grad(asks)(1), []),
    (lambda: xs.vmap(asks, in_axes=3)(ONES), []),
    (lambda: jnp.ones(3) + jnp.ones(4), []),
    (lambda: 1.0 - jnp.ones(3) @ jnp.ones(4), []),
    (lambda: jnp.matmul(jnp.ones(3), jnp.ones(4)), []),
]


@pytest.mark.parametrize("row", range(len(CALLS)))
def test_only_the_users_frames_are_left(row):
    act, below = CALLS[row]
    with pytest.raises((ArithmeticError, TypeError, ValueError)) as caught:
        act()
    assert frames(caught.value) == ["test_only_the_users_frames_are_left", "<lambda>", *below]
    assert caught.value.__notes__ == [NOTE]


def failed(mode: str) -> BaseException:
    """The error of a jitted function under a setting."""
    with setting("traceback_filtering", mode), pytest.raises(ZeroDivisionError) as caught:
        xs.jit(broken)(1.0)
    return caught.value


def test_off_shows_all_frames():
    shown = frames(failed("off"))
    assert len([name for name in shown if name.startswith("[")]) > 3 and shown[-1] == "broken"
    assert not hasattr(failed("off"), "__notes__")


def test_quietly_there_is_no_note():
    error = failed("quiet_remove_frames")
    assert not [name for name in frames(error) if name.startswith("[")]
    assert not hasattr(error, "__notes__")


def test_hidden_frames_are_there_and_marked():
    error = failed("tracebackhide")
    shown = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    marked = {frame.f_code.co_name: "__tracebackhide__" in frame.f_locals for frame in shown}
    assert marked["cache_miss"] and not marked["broken"] and not marked["failed"]
    assert frames(error)[-1] == "broken"


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(ValueError, match="tracebackhide"):
        xs.config.update("jax_traceback_filtering", "sometimes")


def test_what_caused_an_error_is_shortened_too():
    def fails(x):
        try:
            xs.grad(broken)(x)
        except ZeroDivisionError as error:
            raise KeyError("mine") from error

    with pytest.raises(KeyError) as caught:
        xs.jit(fails)(1.0)
    assert frames(caught.value)[1:] == ["fails"]
    assert frames(caught.value.__cause__) == ["fails", "broken"]


def test_an_error_that_causes_itself_ends():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    filter_traceback(first)
    assert (first.__context__, second.__context__) == (second, first)


def test_groups_of_errors_are_gone_through():
    @api_boundary
    def several():
        raise ExceptionGroup("several", [failed("off")])

    with pytest.raises(ExceptionGroup) as caught:
        several()
    assert not [name for name in frames(caught.value.exceptions[0]) if name.startswith("[")]


def test_interrupts_are_shortened_too():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        xs.jit(interrupted)(1.0)
    assert frames(caught.value)[1:] == ["interrupted"]


SCRIPT = """
import xlascope as xs

def loss(x):
    return float(x)

def step(x):
    return xs.grad(loss)(x)

xs.jit(step)(1.0)
"""


def script(**settings: str) -> str:
    """What a script prints that ends with an error."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("TRACEBACK_FILTERING")} | settings
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 1
    return done.stderr


def test_a_script_ends_with_the_users_lines():
    lines = script().splitlines()
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        'File "<string>", line 10, in <module>',
        'File "<string>", line 8, in step',
        'File "<string>", line 5, in loss',
    ]
    assert lines[-1] == NOTE and lines[-2].startswith('See xlascope.errors.explain("ConcretizationTypeError")')
    assert "The above exception" not in "\n".join(lines)


def test_a_script_shows_everything_when_asked_to():
    assert script(XLASCOPE_TRACEBACK_FILTERING="off").count("  File") > 10


@pytest.fixture
def shell(capsys) -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    shell.run_cell(SCRIPT.replace("xs.jit(step)(1.0)", ""))
    capsys.readouterr()
    yield shell
    InteractiveShell.clear_instance()


# How many cells and files the traceback shows, how many it says are hidden, and whether the last is the user's.
@pytest.mark.parametrize(
    ("mode", "files", "hidden", "users"),
    [("auto", 3, 0, True), ("tracebackhide", 4, 3, False)],
)
def test_in_ipython(shell, capsys, mode, files, hidden, users):
    with setting("traceback_filtering", mode):
        shell.run_cell("xs.jit(step)(1.0)")
    out = capsys.readouterr().out
    shown = [line for line in out.splitlines() if line.startswith(("Cell In", "File "))]
    assert len(shown) == files and out.count("skipping hidden") == hidden
    assert shown[-1].startswith("Cell In") == users


def test_explain_knows_the_last_error_of_a_cell(shell, capsys):
    shell.run_cell("xs.jit(step)(1.0)")
    capsys.readouterr()
    shell.run_cell("xs.errors.explain()")
    assert capsys.readouterr().out.startswith("# ConcretizationTypeError")


KEPT = []
LEAKS = xs.jit(lambda x: (KEPT.append(x), x)[1])

# Calls that raise in the library's own code, from outside of any trace.
EAGER = [
    lambda: xs.tree.map(max, [1], [1, 2]),
    lambda: xs.tree.leaves({"w": 1, 0: 2}),
    lambda: xs.devices("gpu"),
    lambda: xs.make_mesh((1024,), ("x",)),
    lambda: jnp.zeros(3).__setitem__(0, 1.0),
    lambda: jnp.zeros(3)[1.5],
    lambda: (LEAKS(1.0), KEPT[0] + 1),
    lambda: xs.device_put(object()),
    lambda: jnp.sin([0.2, 0.4]),
    lambda: jnp.log({"a": 1.0}),
    lambda: jnp.sum((jnp.zeros(1), {})),
    lambda: jnp.max({"a": 1.0}),
    lambda: jnp.mean([1.0, 2.0]),
    lambda: jnp.any({"a": 1.0}),
]


@pytest.mark.parametrize("row", range(len(EAGER)))
def test_errors_outside_of_any_trace_show_the_users_frames_alone(row):
    with pytest.raises((TypeError, ValueError, RuntimeError)) as caught:
        EAGER[row]()
    assert not [name for name in frames(caught.value) if name.startswith("[")]


def test_the_note_that_frames_were_removed_is_not_there_while_one_of_the_library_is():
    def in_the_library(argument):
        return api_boundary(broken)(argument)

    code = in_the_library.__code__.replace(co_filename=api_boundary.__code__.co_filename)
    with pytest.raises(ZeroDivisionError) as caught:
        type(in_the_library)(code, globals())(1.0)
    assert frames(caught.value)[1:] == ["[in_the_library]", "broken"] and not hasattr(caught.value, "__notes__")
    with pytest.raises(ZeroDivisionError) as caught:
        api_boundary(type(in_the_library)(code, globals()))(1.0)
    assert frames(caught.value)[1:] == ["broken"] and caught.value.__notes__ == [NOTE]


FIRST_USES = ["jnp.ones((2, 3)) @ jnp.ones((2, 3))", "jnp.ones(3)[1.5]", "xs.tree.map(max, [1], [1, 2])"]


@pytest.mark.parametrize("call", FIRST_USES)
def test_the_first_use_in_a_script_shows_the_users_frames_alone(call):
    text = f"import xlascope as xs\nimport xlascope.numpy as jnp\n{call}"
    environment = {k: v for k, v in os.environ.items() if not k.endswith("TRACEBACK_FILTERING")}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 1 and done.stderr.count("  File") == 1
