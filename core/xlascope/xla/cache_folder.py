"""A folder of entries by key, shared by any number of processes, kept below a size.

An entry is one file: a mark, a checksum of the rest, facts about it as JSON, and its bytes. Nothing is locked: a file
appears whole by being renamed and never changes afterwards, and whoever finds one missing does without it. The file's
time of modification is when the entry was used last. Whatever goes wrong is one warning per process and kind, never
an error: a cache may only save time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import tempfile
import time
import warnings
from typing import Any, NamedTuple

#: The format of entries, the first bytes of each.
_MARK = b"xlascope entry 1\n"
_DIGEST = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<I")
_SUFFIX = ".executable"
_PART = ".part"
#: Seconds after which an unfinished file's writer is taken for dead.
_ABANDONED = 3600.0

_warned: set[tuple[str, str]] = set()


class Entry(NamedTuple):
    """What is kept under a key: facts that JSON can hold, and bytes."""

    facts: dict[str, Any]
    data: bytes


class DamagedEntryError(ValueError):
    """A file is no whole entry, or that of another key."""


def pack(key: str, entry: Entry) -> bytes:
    """The bytes of an entry's file."""
    facts = json.dumps({**entry.facts, "key": key}).encode()
    digest = hashlib.sha256(facts)
    digest.update(entry.data)
    return b"".join((_MARK, digest.digest(), _LENGTH.pack(len(facts)), facts, entry.data))


def unpack(key: str, content: bytes) -> Entry:
    """The entry of a file's bytes; raises DamagedEntryError, saying how they are wrong.

    >>> unpack("a1", pack("a1", Entry({"n": 1}, b"abc")))
    Entry(facts={'n': 1, 'key': 'a1'}, data=b'abc')
    >>> unpack("a1", pack("a1", Entry({"n": 1}, b"abc"))[:-1])
    Traceback (most recent call last):
    ...
    xlascope.xla.cache_folder.DamagedEntryError: its checksum is wrong
    """
    if not content.startswith(_MARK):
        raise DamagedEntryError("it does not begin as an entry of this version does")
    start = len(_MARK) + _DIGEST + _LENGTH.size
    if len(content) < start:
        raise DamagedEntryError("it is cut off")
    (length,) = _LENGTH.unpack_from(content, len(_MARK) + _DIGEST)
    payload = memoryview(content)[start:]
    if hashlib.sha256(payload).digest() != content[len(_MARK) : len(_MARK) + _DIGEST]:
        raise DamagedEntryError("its checksum is wrong")
    try:
        facts = json.loads(bytes(payload[:length]))
    except ValueError:
        raise DamagedEntryError("its description cannot be read") from None
    if facts.get("key") != key:
        raise DamagedEntryError("it is the entry of another key")
    return Entry(facts, bytes(payload[length:]))


class Folder:
    """Entries in the folder at ``path``, which is made at the first write."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._spare = 0

    def read(self, key: str) -> Entry | None:
        """The entry of a key, which counts as used now; None without one. A damaged one is removed."""
        path = self._file(key)
        try:
            with open(path, "rb") as file:
                content = file.read()
            entry = unpack(key, content)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("unusable", f"cannot be read ({error}); programs are compiled")
            return None
        except DamagedEntryError as error:
            self.discard(key, str(error))
            return None
        with contextlib.suppress(OSError):  # removed since, or not ours to touch: it is good for this once
            os.utime(path)
        return entry

    def write(self, key: str, entry: Entry, bound: int) -> bool:
        """Keep an entry; says whether it is kept. Those used least recently go when all are more than ``bound`` bytes.

        The sum is counted again whenever this process has added a hundredth of the bound: so much it may be above.
        """
        content = pack(key, entry)
        if 0 <= bound < len(content):
            return False
        try:
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            self._place(self._file(key), content)
            self._spare -= len(content)
            if self._spare < 0 <= bound:
                self._spare = min(bound - self.shrink(bound), bound // 100)
        except OSError as error:
            self._warn("unusable", f"cannot be written ({error}); what is compiled is not kept")
            return False
        return True

    def discard(self, key: str, reason: str) -> None:
        """Remove an entry that is no good, and say so."""
        self._warn("damage", f"holds a damaged entry: {reason}; it is removed, and the program compiled")
        with contextlib.suppress(OSError):
            os.unlink(self._file(key))

    def shrink(self, bound: int) -> int:
        """Remove what was not used for longest if all are more than ``bound`` bytes; returns how many are left.

        A tenth of the bound is then free, so that a full folder is not sorted at each write.
        """
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        if total <= bound:
            return total
        for _, size, path in files:
            if total <= bound - bound // 10:
                break
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                os.unlink(path)
            total -= size
        return total

    def _files(self) -> list[tuple[float, int, str]]:
        """When used, how large, where: the entries, and unfinished ones; those that nobody finishes are removed."""
        found = []
        for each in os.scandir(self.path):
            if not each.name.endswith((_SUFFIX, _PART)):
                continue
            with contextlib.suppress(FileNotFoundError):
                facts = each.stat()
                if each.name.endswith(_PART):
                    if time.time() - facts.st_mtime > _ABANDONED:
                        os.unlink(each.path)
                    continue
                found.append((facts.st_mtime, facts.st_size, each.path))
        return found

    def _place(self, path: str, content: bytes) -> None:
        """Make a file appear with its whole content."""
        handle, part = tempfile.mkstemp(_PART, ".", self.path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise

    def _file(self, key: str) -> str:
        return os.path.join(self.path, key + _SUFFIX)

    def _warn(self, kind: str, text: str) -> None:
        if (kind, self.path) not in _warned:
            _warned.add((kind, self.path))
            warnings.warn(
                f"the compilation cache in {self.path} {text} (said once; later ones are not reported)", stacklevel=2
            )
