"""Being watched does not change the program: the executable is the same object, and nothing stays behind."""

from typing import Any

WHO = """
from xlascope.inspect.engine.traced_calls import executables_of, jitted_of
def executables():
    found = [e for t in jitted_of(update).traces.values() for e in executables_of(t.program)]
    return [id(e.compilation.executable) for e in found]
"""


def test_the_executable_is_the_same_object(terminal: Any) -> None:
    terminal.run(WHO)
    terminal.run("%scope off\ny = update(w, x)\nbefore = executables()")
    for scope in ("on", "open", "pin"):
        terminal.run(f"%scope {scope}")
        assert "ran 200 times" in terminal.run("for _ in range(200): y = update(w, x)")
        assert "True 1" in terminal.run("print(executables() == before, len(before))")


def test_one_compiled_while_watched_serves_unwatched(terminal: Any) -> None:
    terminal.run(WHO)
    terminal.run("y = update(w, x)\nbefore = executables()")
    terminal.run("%scope off")
    assert "True 1" in terminal.run("y = update(w, x)\nprint(executables() == before, len(before))")


def test_the_results_are_the_same_bits(terminal: Any) -> None:
    terminal.run("%scope off\na = w\nfor _ in range(20): a = update(a, x)")
    terminal.run("%scope open")
    terminal.run("b = w\nfor _ in range(20): b = update(b, x)")
    assert "True" in terminal.run("print(np.asarray(a).tobytes() == np.asarray(b).tobytes())")
