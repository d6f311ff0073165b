"""A folder of entries by key, shared by any number of processes, kept below a size.

An entry is one file: a mark, a checksum of the rest, facts about it as JSON, and its bytes. Nothing is locked: a file
appears whole by being renamed and never changes afterwards, and whoever finds one missing does without it. The file's
time of modification is when the entry was used last. Entries are native code: nothing is loaded from a folder or a file
that anybody else owns or may write (``own_files.py``). Whatever goes wrong is one warning per process and kind, never
an error: a cache may only save time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import time
import warnings
from typing import Any, NamedTuple

from ..system.own_files import ForeignFileError, OwnFolder, own_folder

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
    xlascope.xla.cache.cache_folder.DamagedEntryError: its checksum is wrong
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
        try:
            with own_folder(self.path, make=False) as folder:
                return unpack(key, folder.read(key + _SUFFIX))
        except FileNotFoundError:
            pass
        except ForeignFileError as error:
            self._warn_of_others(error)
        except OSError as error:
            self._warn("unusable", f"cannot be read ({error}); programs are compiled")
        except DamagedEntryError as error:
            self.discard(key, str(error))
        return None

    def write(self, key: str, entry: Entry, bound: int) -> bool:
        """Keep an entry; says whether it is kept. Those used least recently go when all are more than ``bound`` bytes.

        The sum is counted again whenever this process has added a hundredth of the bound: so much it may be above.
        """
        content = pack(key, entry)
        if 0 <= bound < len(content):
            return False
        try:
            with own_folder(self.path, make=True) as folder:
                folder.write(key + _SUFFIX, content, _PART)
                self._spare -= len(content)
                if self._spare < 0 <= bound:
                    self._spare = min(bound - _shrunk(folder, bound), bound // 100)
        except ForeignFileError as error:
            self._warn_of_others(error)
            return False
        except OSError as error:
            self._warn("unusable", f"cannot be written ({error}); what is compiled is not kept")
            return False
        return True

    def discard(self, key: str, reason: str) -> None:
        """Remove an entry that is no good, and say so."""
        self._warn("damage", f"holds a damaged entry: {reason}; it is removed, and the program compiled")
        with contextlib.suppress(OSError, ForeignFileError), own_folder(self.path, make=False) as folder:
            folder.remove(key + _SUFFIX)

    def shrink(self, bound: int) -> int:
        """Remove what was not used for longest if all are more than ``bound`` bytes; returns how many are left.

        A tenth of the bound is then free, so that a full folder is not sorted at each write.
        """
        with own_folder(self.path, make=False) as folder:
            return _shrunk(folder, bound)

    def _warn_of_others(self, error: ForeignFileError) -> None:
        self._warn("foreign", f"is not used, because it holds native code: {error}. Programs are compiled")

    def _warn(self, kind: str, text: str) -> None:
        if (kind, self.path) not in _warned:
            _warned.add((kind, self.path))
            warnings.warn(
                f"the compilation cache in {self.path} {text} (said once; later ones are not reported)", stacklevel=2
            )


def _shrunk(folder: OwnFolder, bound: int) -> int:
    files = sorted(_entries(folder))
    total = sum(size for _, size, _ in files)
    if total <= bound:
        return total
    for _, size, name in files:
        if total <= bound - bound // 10:
            break
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            folder.remove(name)
        total -= size
    return total


def _entries(folder: OwnFolder) -> list[tuple[float, int, str]]:
    """When used, how large, its name: the entries. Unfinished ones that nobody finishes are removed."""
    found = []
    for name, facts in folder.files():
        if name.endswith(_SUFFIX):
            found.append((facts.st_mtime, facts.st_size, name))
        elif name.endswith(_PART) and time.time() - facts.st_mtime > _ABANDONED:
            with contextlib.suppress(FileNotFoundError):
                folder.remove(name)
    return found
