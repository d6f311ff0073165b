"""``python -m xlascope watch script.py …``: run a script unchanged and write records of its programs."""

from __future__ import annotations

import argparse
import atexit
import sys

from .about import About
from .durations import duration
from .files import Files
from .progress import Progress
from .running import NoScriptError, Script, hide_us, of_file, of_module, of_text
from .seen import Seen
from .watched import Watched

_NAME = "python -m xlascope watch"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: ours come before the script, everything after it belongs to the script."""
    parser.usage = f"{_NAME} [options] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT ...]"
    parser.add_argument("-o", "--output", metavar="NAME", help="write NAME.html and NAME.json (default: the script's)")
    parser.add_argument("--every", type=_duration, metavar="TIME", help="write them anew while it runs: 60s, 5min, 1h")
    parser.add_argument("--progress", choices=("auto", "line", "plain", "off"), default="auto", help="on stderr")
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module, as in python -m"
    )
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE", help="a text, as in python -c")
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a script of xlascope or jax, unchanged")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="the script's own")
    parser.set_defaults(parser=parser)


def _duration(text: str) -> float:
    try:
        return duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main(chosen: argparse.Namespace) -> int:
    """Run the script; whatever ends the script ends this process."""
    try:
        script = _script(chosen)
    except NoScriptError as error:
        print(f"{_NAME}: {error}", file=sys.stderr)
        return error.status
    info = About(script.name, _command(chosen), home=script.folder)
    files = Files.named(chosen.output, _stem(script), info.rank)
    try:
        files.check()
    except OSError as error:
        print(f"{_NAME}: {error}", file=sys.stderr)
        return 2
    recorder = Seen()
    watcher = Watched(info, files, recorder, Progress(recorder, chosen.progress), chosen.every)
    return _run(script, watcher)


def _run(script: Script, watcher: Watched) -> int:
    """Run a watched script; files are written last, after its threads and its exit handlers."""
    exit_report = _Ended(watcher)
    atexit.register(exit_report.tell)
    watcher.begin()
    try:
        script.run()
    except NoScriptError as error:
        exit_report.how = str(error)
        print(f"{_NAME}: {error}", file=sys.stderr)
        return error.status
    except SystemExit as error:
        exit_report.how = _status(error)
        raise
    except BaseException as error:
        exit_report.how = type(error).__name__
        watcher.fail(error)
        hide_us()
        raise
    finally:
        watcher.progress.clear()
        watcher.settle_unless_threads_run()
    return 0


class _Ended:
    """The reason why the script ended, reported at exit."""

    def __init__(self, watcher: Watched) -> None:
        self.how = "ended"
        self._watched = watcher

    def tell(self) -> None:
        self._watched.settle()
        self._watched.finish(self.how)


def _status(error: SystemExit) -> str:
    code = error.code
    if code is None or code == 0:
        return "ended"
    return f"exit status {code}" if isinstance(code, int) else "exit status 1"


def _script(chosen: argparse.Namespace) -> Script:
    for words, load_script in ((chosen.module, of_module), (chosen.code, of_text)):
        if words is not None:
            if not words:
                chosen.parser.error("argument expected for -m or -c")
            return load_script(words[0], words[1:])
    if chosen.script is None:
        chosen.parser.error("which script? Example: python -m xlascope watch train.py --epochs 3")
    return of_file(chosen.script, chosen.arguments)


def _command(chosen: argparse.Namespace) -> tuple[str, ...]:
    """Return the command that runs the script without watching."""
    if chosen.module is not None:
        return ("python", "-m", *chosen.module)
    if chosen.code is not None:
        return ("python", "-c", *chosen.code)
    return ("python", chosen.script, *chosen.arguments)


def _stem(script: Script) -> str:
    return "code" if script.name == "-c" else script.name.rpartition(".")[2] if script.argv[0] == "-m" else script.name
