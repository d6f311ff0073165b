"""``python -m xlascope watch script.py …``: run a script unchanged and write records of its programs."""

from __future__ import annotations

import argparse
import atexit
import sys

from .durations import parse_duration
from .output_files import OutputFiles
from .progress import Progress
from .recorder import ScriptRecorder
from .run_info import RunInfo
from .script_loader import (
    NoScriptError,
    Script,
    hide_own_frames,
    script_from_code,
    script_from_file,
    script_from_module,
    strip_own_frames,
)
from .watcher import ScriptWatcher

_NAME = "python -m xlascope watch"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: ours come before the script, everything after it belongs to the script."""
    parser.usage = f"{_NAME} [options] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT ...]"
    parser.add_argument("-o", "--output", metavar="NAME", help="write NAME.html and NAME.json (default: the script's)")
    parser.add_argument(
        "--every", type=_parse_duration, metavar="TIME", help="write them anew while it runs: 60s, 5min, 1h"
    )
    parser.add_argument(
        "--values", action="store_true", help="watch loss, gradients and zeros of training steps: where NaN is born"
    )
    parser.add_argument("--progress", choices=("auto", "line", "plain", "off"), default="auto", help="on stderr")
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module, as in python -m"
    )
    parser.add_argument("-c", dest="code", nargs=argparse.REMAINDER, metavar="CODE", help="a text, as in python -c")
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a script of xlascope or jax, unchanged")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="the script's own")
    parser.set_defaults(parser=parser)


def _parse_duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main(options: argparse.Namespace) -> int:
    """Run the script; whatever ends the script ends this process."""
    try:
        script = _load_script(options)
    except NoScriptError as error:
        print(f"{_NAME}: {error}", file=sys.stderr)
        return error.status
    info = RunInfo(script.name, _command_words(options), script_folder=script.folder)
    files = OutputFiles.from_name(options.output, _output_stem(script), info.rank)
    try:
        files.check_writable()
    except OSError as error:
        print(f"{_NAME}: {error}", file=sys.stderr)
        return 2
    recorder = ScriptRecorder()
    progress = Progress(recorder, options.progress)
    watcher = ScriptWatcher(info, files, recorder, progress, options.every, values=options.values)
    return _run_watched(script, watcher)


def _run_watched(script: Script, watcher: ScriptWatcher) -> int:
    """Run a script under a watcher and return the exit status; its files are written at exit, after all its threads."""
    exit_report = _ExitReport(watcher)
    atexit.register(exit_report.report)
    watcher.begin()
    try:
        script.run()
    except NoScriptError as error:
        exit_report.cancel()
        print(f"{_NAME}: {error}", file=sys.stderr)
        return error.status
    except SystemExit as error:
        exit_report.reason = _exit_status_text(error)
        raise
    except BaseException as error:
        exit_report.reason = type(error).__name__
        watcher.record_failure(error)
        if isinstance(error, SyntaxError) and strip_own_frames(error.__traceback__) is None:
            exit_report.cancel()
        hide_own_frames()
        raise
    finally:
        watcher.progress.clear()
        watcher.stop_unless_threads_run()
    return 0


class _ExitReport:
    """Exit handler that stops watching and writes the files; ``reason`` says how the script ended."""

    def __init__(self, watcher: ScriptWatcher) -> None:
        self.reason = "ended"
        self._watcher = watcher

    def report(self) -> None:
        self._watcher.stop_watching()
        self._watcher.finish(self.reason)

    def cancel(self) -> None:
        """Write nothing, because there is no script that could have run; files of an earlier run stay."""
        atexit.unregister(self.report)


def _exit_status_text(error: SystemExit) -> str:
    code = error.code
    if code is None or code == 0:
        return "ended"
    return f"exit status {code}" if isinstance(code, int) else "exit status 1"


def _load_script(options: argparse.Namespace) -> Script:
    for words, load_script in ((options.module, script_from_module), (options.code, script_from_code)):
        if words is not None:
            if not words:
                options.parser.error("argument expected for -m or -c")
            return load_script(words[0], words[1:])
    if options.script is None:
        options.parser.error("which script? Example: python -m xlascope watch train.py --epochs 3")
    return script_from_file(options.script, options.arguments)


def _command_words(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the command that runs the script without watching."""
    if options.module is not None:
        return ("python", "-m", *options.module)
    if options.code is not None:
        return ("python", "-c", *options.code)
    return ("python", options.script, *options.arguments)


def _output_stem(script: Script) -> str:
    return "code" if script.name == "-c" else script.name.rpartition(".")[2] if script.argv[0] == "-m" else script.name
