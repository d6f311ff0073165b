"""Readers of the labels in XLA's fusion dumps: an HTML page (jaxlib 0.10) or an archive (jaxlib 0.11, libtpu).

Archives hold the labels in a database (2025) or as JSON (2026), beside a viewer program, which is not run.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..format_error import FormatError
from .dump import Dump
from .labels import parse_labels

#: The most bytes of labels that are unpacked, and the most frames that are read of any dump.
MAX_LABEL_BYTES, MAX_FRAMES = 256 * 2**20, 200_000
#: Steps of SQLite's virtual machine between two checks of a query's duration, and the maximum number of checks.
_STEPS_PER_CHECK, _MAX_CHECKS = 100_000, 2_000
#: Exceptions raised by damaged zip files and databases.
_DAMAGE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, sqlite3.Error),
    UnicodeDecodeError,  # the names in a zip file
)
_SUBJECT = "a fusion dump of XLA's"
_SEPARATORS = " \t\r\n,"
_METADATA, _DATABASE = "metadata.json", "fusions.db"


def read_fusion_page(text: str, *, is_complete: bool = True) -> Dump:
    """Return the decisions in a ``*_fusion.html``; ``is_complete`` is False for truncated text.

    Raises FormatError for a page without frames.

    >>> read_fusion_page('const frames = [[0, "Not fusing |a| into |b| as Fusion is not profitable.", ""]];').decisions
    (FusionDecision(step=0, ..., action='refused', producer='a', consumer='b', ...),)
    """
    _, mark, tail = text.partition("const frames = [")
    if not mark:
        raise FormatError(_SUBJECT, "no frames in the page: it is damaged, or not a fusion dump of XLA's")
    labels: list[str] = []
    complete = False
    position, decode = 0, json.JSONDecoder(strict=False).raw_decode
    while len(labels) < MAX_FRAMES:
        while position < len(tail) and tail[position] in _SEPARATORS:
            position += 1
        if tail.startswith("]", position):
            complete = True
            break
        try:
            frame, position = decode(tail, position)
        except (ValueError, RecursionError):
            break
        if isinstance(frame, list) and len(frame) > 1 and isinstance(frame[1], str):
            labels.append(frame[1])
    return Dump(parse_labels(labels), complete and (is_complete or ";" in tail[position : position + 2]))


def read_fusion_archive(file: Path) -> Dump:
    """Return the decisions in a ``*_fusion.pyz`` or in its database.

    The file is a zip with ``metadata.json`` or ``fusions.db``, or the database itself. A database is opened
    read-only, and only the labels may be queried. Raises FormatError when the file is damaged, too large, or
    holds no frames.
    """
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive, tempfile.TemporaryDirectory(prefix="xlascope-") as folder:
                if _METADATA in archive.namelist():
                    return _read_metadata(_unpack(archive, _METADATA, Path(folder)))
                return _read_labels(_unpack(archive, _DATABASE, Path(folder)))
        with file.open("rb") as stream:
            if not stream.read(16).startswith(b"SQLite format 3"):
                raise FormatError(_SUBJECT, "neither a zip file nor a database: it is damaged, or cut off")
        return _read_labels(file)
    except _DAMAGE_ERRORS as error:
        raise FormatError(_SUBJECT, f"a damaged fusion dump ({error})") from None


def _unpack(archive: zipfile.ZipFile, name: str, folder: Path) -> Path:
    """Write a file of a zip archive into ``folder`` and return its path; raise FormatError if missing or too large."""
    try:
        size = archive.getinfo(name).file_size
    except KeyError:
        raise FormatError(
            _SUBJECT, f"neither {_METADATA} nor {_DATABASE} in the zip file: it is no fusion dump of XLA's"
        ) from None
    if size > MAX_LABEL_BYTES:
        raise FormatError(_SUBJECT, f"its labels take {size:,} bytes; at most {MAX_LABEL_BYTES:,} are read")
    target = folder / name
    remaining = MAX_LABEL_BYTES
    with archive.open(name) as source, target.open("wb") as copy:
        while block := source.read(min(2**20, remaining + 1)):  # the size in the zip's directory is not trusted
            remaining -= len(block)
            if remaining < 0:
                raise FormatError(_SUBJECT, f"its labels take more than {MAX_LABEL_BYTES:,} bytes")
            copy.write(block)
    return target


def _read_metadata(file: Path) -> Dump:
    try:
        metadata = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(_SUBJECT, f"its {_METADATA} is damaged ({error})") from None
    frames = metadata.get("frames") if isinstance(metadata, dict) else None
    if not isinstance(frames, list):
        raise FormatError(_SUBJECT, f"no frames in its {_METADATA}: it is no fusion dump of XLA's")
    labels = [item.get("label") for item in frames[:MAX_FRAMES] if isinstance(item, dict)]
    return Dump(parse_labels(item for item in labels if isinstance(item, str)), len(frames) <= MAX_FRAMES)


def _read_labels(database: Path) -> Dump:
    """Return the decisions in the database of a fusion dump; raise FormatError for any other database."""
    with _open_database(database) as connection:
        tables = dict(connection.execute("SELECT name, type FROM sqlite_master"))
        if tables.get("frames") != "table":
            raise FormatError(_SUBJECT, "no table of frames in the database: it is not a fusion dump of XLA's")
        rows = connection.execute("SELECT label FROM frames ORDER BY id")
        labels: list[str] = []
        complete = True
        try:
            for (label,) in rows:
                if len(labels) == MAX_FRAMES:
                    complete = False
                    break
                if isinstance(label, str):
                    labels.append(label)
        except sqlite3.Error:  # cut off: what was read so far stands
            if not labels:
                raise
            complete = False
    return Dump(parse_labels(labels), complete)


@contextlib.contextmanager
def _open_database(database: Path) -> Iterator[sqlite3.Connection]:
    """Open an untrusted SQLite database read-only, with limits on what queries may read and how long they take."""
    connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda data: data.decode(errors="replace")
    checks = iter(range(_MAX_CHECKS))
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
        connection.set_progress_handler(lambda: next(checks, None) is None, _STEPS_PER_CHECK)
        connection.set_authorizer(_authorize)
        yield connection
    finally:
        connection.close()


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Authorize only reads of two tables, as SQLite's callback: a database may have views and functions of its own."""
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and first in ("frames", "sqlite_master"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
