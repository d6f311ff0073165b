"""What a cell that fails shows: the user's lines; and the shell's own handler of exceptions, if it has one, stays."""

from typing import Any

import pytest

from xlascope.settings import setting

FAILING = {
    "without a boundary": "xs.lax.add(jnp.ones(2), jnp.ones(3))",
    "jitted": "update(w, 'text')",
    "in a magic": "%timings jnp.concatenate([jnp.ones((2, 3)), jnp.ones(3)])",
    "the user's own": "1 / 0",
    "interrupted": "def interrupt(x): raise KeyboardInterrupt\nxs.jit(interrupt)(1.0)",
    "interrupted in a magic": "def interrupt(x): raise KeyboardInterrupt\n%jaxpr interrupt(1.0)",
    "interrupted in a method made by dataclass": "xs.jit(lambda: exec('raise KeyboardInterrupt', vars(xs)))()",
}
#: Cells that cannot be compiled, and what runs such code.
UNCOMPILED = ["x = = 3", "a = 1\n  b = 2", "def f(:", "return 3", "s = 'abc", "%timings update(w,\n    x)"]
RUNNING_UNCOMPILED = ["%%scope\ndef g(:", "eval('1 +')"]


@pytest.mark.parametrize("case", FAILING)
def test_a_cell_shows_no_frame_of_the_engine(terminal: Any, case: str) -> None:
    with setting("traceback_filtering", "auto"):
        shown = terminal.run(FAILING[case], fails=True)
    assert "Cell In" in shown and "File " not in shown


@pytest.mark.parametrize("cell", UNCOMPILED)
def test_a_syntax_error_is_shown_as_without_the_extension(terminal: Any, cell: str) -> None:
    shown = terminal.run(cell, fails=True)
    assert "Cell In" in shown and "Error: " in shown
    assert "File " not in shown and "Traceback" not in shown and "xlascope" not in shown


@pytest.mark.parametrize("cell", RUNNING_UNCOMPILED)
def test_a_syntax_error_in_what_a_cell_runs_shows_no_frame_of_the_shell(terminal: Any, cell: str) -> None:
    shown = terminal.run(cell, fails=True)
    assert "SyntaxError: " in shown and "interactiveshell.py" not in shown and "Cell In" in shown


JAXLIBS = {
    "xs.jit(lambda n: n, static_argnums=0)([2])": "[2] of type list",
    "xs.jit(lambda p: p)({'w': 1, 0: 2})": "Make them all text",
    "b = jnp.ones(3); f = xs.jit(lambda x: x + 1, donate_argnums=0); f(b + 1); f(b); f(b)": "pass a copy (x.copy())",
}


@pytest.mark.parametrize("cell", JAXLIBS)
def test_an_error_of_jaxlibs_says_the_line_and_the_way_out(terminal: Any, cell: str) -> None:
    shown = terminal.run(cell, fails=True)
    assert JAXLIBS[cell] in shown and ":1 (in <module>)" in shown


def test_all_frames_are_shown_when_asked_for(terminal: Any) -> None:
    with setting("traceback_filtering", "off"):
        assert terminal.run(FAILING["without a boundary"], fails=True).count("File ") > 3


def test_a_cell_without_the_extension_shows_the_functions_it_called(terminal: Any) -> None:
    terminal.run("%unload_ext xlascope")
    with setting("traceback_filtering", "auto"):
        assert "File " in terminal.run(FAILING["without a boundary"], fails=True)
        assert "File " not in terminal.run(FAILING["jitted"], fails=True)


def test_somebody_elses_handler_stays(terminal: Any) -> None:
    terminal.run("%unload_ext xlascope")

    def handler(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any = None) -> None:
        print("somebody else's")

    terminal.shell.set_custom_exc((ZeroDivisionError,), handler)
    try:
        terminal.run("%load_ext xlascope")
        assert "somebody else's" in terminal.run("1 / 0", fails=True)
        terminal.run("%unload_ext xlascope")
        assert "somebody else's" in terminal.run("1 / 0", fails=True)
    finally:
        terminal.shell.set_custom_exc((), None)


def test_a_handler_that_came_later_stays(terminal: Any) -> None:
    terminal.shell.set_custom_exc((KeyError,), lambda *args, **kwargs: None)
    try:
        terminal.run("%unload_ext xlascope")
        assert terminal.shell.custom_exceptions == (KeyError,)
    finally:
        terminal.shell.set_custom_exc((), None)


def test_a_kernel_sends_the_short_traceback(kernel: Any) -> None:
    kernel.run("xs.config.update('traceback_filtering', 'auto')")
    (error,) = kernel.run(FAILING["without a boundary"]).of("error")
    assert error["ename"] == "TypeError" and "shape-mismatch" in error["evalue"]
    assert not [frame for frame in error["traceback"] if "xlascope/" in frame]


def test_a_message_calls_a_cell_by_its_number(terminal: Any) -> None:
    shown = terminal.run("def rectify(x):\n    return x if x > 0 else 0.0\nxs.jit(rectify)(1.0)", fails=True)
    number = len(terminal.shell.user_ns["In"]) - 1
    assert f"At In[{number}]:2 (in rectify)" in shown


def test_a_note_calls_a_cell_by_its_number(terminal: Any) -> None:
    shown = terminal.run("xs.jit(lambda n: n, static_argnums=0)([2])", fails=True)
    number = len(terminal.shell.user_ns["In"]) - 1
    assert f"At In[{number}]:1 (in <module>)" in shown and "arrays cannot be static" in shown
