"""A watched script is run as Python runs it: the same names, output, errors and exit status, with nothing of ours."""

import zipfile

import pytest
from tests.core.scripts.running import PROGRAM, Outcome, Place, share_of_step

pytestmark = pytest.mark.live

#: What a script sees of how it is run.
FACTS = """
import os, sys
import __main__
print(sys.argv, __name__, __file__ if "__file__" in globals() else None, sys.path[0], os.getcwd())
print(__package__, __spec__ and __spec__.name, __doc__, __builtins__.__name__, __main__.__dict__ is globals())
print(sorted(name for name in globals() if not name.startswith("__")), "xlascope" in sys.modules)
"""
ALONE = FACTS.replace(', "xlascope" in sys.modules', "")

ENDINGS = {
    "well": (PROGRAM, "ended"),
    "exit 0": ("sys.exit()", "ended"),
    "exit 3": ("sys.exit(3)", "exit status 3"),
    "exit with words": ("sys.exit('bad words')", "exit status 1"),
    "raises": ("def f():\n    raise ValueError('wrong <b>')\nf()", "ValueError"),
    "raises from": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError(1) from e", "KeyError"),
    "cannot be traced": (PROGRAM + "step(jnp.ones((2, 3)))", "TypeError"),
    "an interrupt of its own": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "a hook of its own": (
        "sys.excepthook = lambda *e: print('hooked', e[1], e[2].tb_lineno)\n1 / 0",
        "ZeroDivisionError",
    ),
    "at its end": ("import atexit; atexit.register(print, 'at its end')", "ended"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_it_ends_as_it_does_alone(place: Place, ending: str) -> None:
    text, ended = ENDINGS[ending]
    script = place.write("import sys\n" + text)
    alone, watched = place.run(script), place.watch(script)
    assert watched[:3] == alone[:3]
    assert "train.xlascope.html" in watched.said and "train.xlascope.json" in watched.said
    run = place.script()
    assert run.ended == ended and run.function == "train.py" and run.command == ("python", "train.py")
    if PROGRAM not in text:
        return
    step = share_of_step(run)
    assert (step.calls, step.kept) == (200, True) and step.made > 0 and step.running > 0
    assert (place.folder / "train.xlascope.html").stat().st_size > 100_000


def zipped(place: Place) -> str:
    with zipfile.ZipFile(place.folder / "app.zip", "w") as file:
        file.writestr("__main__.py", ALONE)
    return "app.zip"


WAYS = {
    "a file": lambda place: [place.write(ALONE, "a.py"), "x", "--output", "--", "-m", "y"],
    "a file elsewhere": lambda place: [place.write(ALONE, "deep/er/a.py")],
    "a module": lambda place: ["-m", place.write(ALONE, "b.py")[:-3], "-c", "--every"],
    "a package": lambda place: ["-m", place.write(ALONE, "pack/__main__.py")[:4], "x"],
    "a module in a package": lambda place: ["-m", "pack.inner", place.write(ALONE, "pack/inner.py")],
    "a text": lambda place: ["-c", ALONE, "x", "-m"],
    "a folder": lambda place: [place.write(ALONE, "app/__main__.py")[:3], "x"],
    "a zip file": lambda place: [zipped(place), "x"],
}


@pytest.mark.parametrize("way", WAYS)
def test_it_sees_what_it_sees_alone(place: Place, way: str) -> None:
    words = WAYS[way](place)
    alone, watched = place.run(*words), place.watch("-o", "run", *words)
    assert alone.status == 0 and watched[:3] == alone[:3]
    assert place.script("run.json").command == ("python", *words)


@pytest.mark.parametrize(
    "words", [["none.py"], ["-m", "nothing_of_that_name"], ["-m", "json"], ["syntax.py"], ["-m", "broken"]]
)
def test_what_cannot_be_run(place: Place, words: list[str]) -> None:
    place.write("def f(:\n", "syntax.py")
    place.write("import nothing_of_that_name\n", "broken/__init__.py")
    place.write("", "broken/__main__.py")
    alone, watched = place.run(*words), place.watch(*words)
    assert watched.status == alone.status != 0 and not watched.output

    def last(found: Outcome) -> str:  # the interpreter, and we, say who says it
        return found.errors.splitlines()[-1].partition(": ")[2]

    assert last(watched) == last(alone)
    if words == ["syntax.py"]:
        assert watched.errors == alone.errors
    has_code = words == ["-m", "broken"]
    assert bool(list(place.folder.glob("*.xlascope.*"))) == has_code


def test_processes_that_it_starts(place: Place) -> None:
    """Spawned ones import the script again; forked ones are not watched, and write nothing."""
    script = place.write(
        PROGRAM
        + """
import multiprocessing, os

def work(i):
    return i * float(step(x).sum() > 0)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, range(3)))
    print("forked", flush=True)
    if os.fork() == 0:
        sys.exit(0)
    print("waited", os.wait()[1])
"""
    )
    alone, watched = place.run(script), place.watch(script)
    assert watched[:2] == alone[:2] and "[0.0, 1.0, 2.0]" in alone.output
    assert watched.said.count("train.xlascope.json") == 1
    assert place.script().ended == "ended"


def test_threads_that_outlive_it(place: Place) -> None:
    script = place.write(
        PROGRAM
        + """
import threading, time

def later():
    time.sleep(0.5)
    print("later", float(xs.jit(lambda x: x + 1, inline=False)(x).sum() > 0))
    named = xs.jit(lambda x: x * 3)
    named.__wrapped__.__name__ = "late"
    print(float(named(x).sum() > 0))

threading.Thread(target=later).start()
"""
    )
    alone, watched = place.run(script), place.watch(script)
    assert watched[:3] == alone[:3]
    assert len([each for each in place.script().shares if each.function in ("<lambda>", "late")]) == 2
