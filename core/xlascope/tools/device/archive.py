"""The archive of a report: one zip file of at most 16 MB, written atomically, and read as untrusted input.

It holds ``summary.txt``, ``results.json`` and, in folders, records, profiles, HLO, texts, logs and scripts.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...records.store import write_whole

#: Bytes of an archive, of a member once it is unpacked, and of all members together; members of an archive.
MAX_BYTES, MAX_MEMBER_BYTES, MAX_UNPACKED_BYTES, MAX_MEMBERS = 16_000_000, 200_000_000, 600_000_000, 2000
#: Bytes reserved for the directory of the zip file.
_DIRECTORY_RESERVE_BYTES = 200_000
RESULTS, SUMMARY = "results.json", "summary.txt"
FORMAT, VERSION = "xlascope device report", 1
#: The folders that go into an archive, the most important first; files that do not fit are left out.
FOLDERS = ("profiles", "records", "hlo", "text", "scripts", "logs")
_MEMBER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]*(?:/[A-Za-z0-9_][A-Za-z0-9_. -]*){0,2}")


class ArchiveError(ValueError):
    """Error for a file that is not a valid archive of a device report."""


class Report(NamedTuple):
    """Contents of an archive: the results, the summary, and the bytes of the other files in it by name."""

    results: dict[str, Any]
    summary: str
    members: dict[str, bytes]


def write_archive(target: Path, folder: Path, results: dict[str, Any], summary: str) -> list[str]:
    """Write a report's results, its summary and the files in ``folder`` to the zip file ``target``.

    Returns the names of files that were left out because the archive would become too large.
    """
    left_out: list[str] = []
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        head = len(summary.encode()) + len(zlib.compress(json.dumps(results).encode(), 6))
        free_bytes = MAX_BYTES - _DIRECTORY_RESERVE_BYTES - head
        for name, path in _iter_files(folder):
            size = len(zlib.compress(data := path.read_bytes(), 6))
            if size > free_bytes or len(data) > MAX_MEMBER_BYTES:
                left_out.append(name)
                continue
            free_bytes -= size
            file.writestr(name, data)
        file.writestr(RESULTS, json.dumps({**results, "left_out": left_out}, indent=1))
        file.writestr(SUMMARY, summary)
    write_whole(buffer.getvalue(), target)
    return left_out


def _iter_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (name, path) of the files for the archive: the most important folder first, and in it the smallest file."""
    for name in FOLDERS:
        paths = [path for path in (folder / name).glob("*") if path.is_file() and not path.is_symlink()]
        for path in sorted(paths, key=lambda path: (path.stat().st_size, path.name)):
            yield f"{name}/{path.name}", path


def read_archive(path: Path) -> Report:
    """Read an untrusted archive; raise ArchiveError if it is invalid or too large."""
    try:
        with zipfile.ZipFile(path) as file:
            members = {info.filename: file.read(info) for info in _validate_members(file)}
        results = json.loads(members.pop(RESULTS))
        summary = members.pop(SUMMARY, b"").decode(errors="replace")
    except ArchiveError as error:
        raise ArchiveError(f"{path}: {error}") from None
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ArchiveError(f"{path}: {error}") from None
    except (KeyError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: no results of a device report ({type(error).__name__})") from None
    if not isinstance(results, dict) or results.get("format") != FORMAT or results.get("version") != VERSION:
        raise ArchiveError(f"{path}: no device report of version {VERSION}")
    return Report(results, summary, members)


def _validate_members(file: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files in a zip archive; raise ArchiveError unless their names and sizes are those of a report."""
    infos = file.infolist()
    if len(infos) > MAX_MEMBERS or sum(info.file_size for info in infos) > MAX_UNPACKED_BYTES:
        raise ArchiveError("too large for a device report")
    names = [info.filename for info in infos]
    invalid = next((name for name in names if not _MEMBER.fullmatch(name) or ".." in name), None)
    if invalid is not None or len(set(names)) != len(names):
        raise ArchiveError(f"the member {invalid!r} is none of a device report")
    return infos
