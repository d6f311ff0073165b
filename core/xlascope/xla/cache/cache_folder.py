"""Folder of cache entries by key, shared by any number of processes and bounded in size.

An entry is one file: a magic prefix, a checksum of what follows, facts about it as JSON, and its bytes. Nothing is
locked: a file appears complete by being renamed and never changes afterwards, and a process that finds one missing
goes on without it. The file's modification time is when the entry was used last. A folder that somebody else shares is
read alone. Entries are native code: nothing is loaded from a folder or a file that another user owns or may write,
beside the one who shares it (``private_files.py``). A failure gives one warning per process and kind, never an error: a
cache may only save time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import time
import warnings
from typing import Any, NamedTuple

from ..system.private_files import ForeignFileError, PrivateFolder, open_private_folder, open_shared_folder

#: The first bytes of each entry, which name its format.
_MAGIC = b"xlascope entry 1\n"
_DIGEST = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<I")
_SUFFIX = ".executable"
_PART_SUFFIX = ".part"
#: An unfinished file of this age was abandoned by its writer.
_STALE_PART_SECONDS = 3600.0

_warned: set[tuple[str, str]] = set()


class Entry(NamedTuple):
    """Content of the cache under one key: facts about it, as JSON can hold them, and the cached bytes."""

    facts: dict[str, Any]
    data: bytes


class DamagedEntryError(ValueError):
    """Error for a file that is not a complete entry, or is the entry of another key."""


def pack(key: str, entry: Entry) -> bytes:
    """Return the content of the file that stores an entry under ``key``."""
    facts = json.dumps({**entry.facts, "key": key}).encode()
    digest = hashlib.sha256(facts)
    digest.update(entry.data)
    return b"".join((_MAGIC, digest.digest(), _LENGTH.pack(len(facts)), facts, entry.data))


def unpack(key: str, content: bytes) -> Entry:
    """Parse the content of an entry's file; raises DamagedEntryError if it is damaged or stored under another key.

    >>> unpack("a1", pack("a1", Entry({"n": 1}, b"abc")))
    Entry(facts={'n': 1, 'key': 'a1'}, data=b'abc')
    >>> unpack("a1", pack("a1", Entry({"n": 1}, b"abc"))[:-1])
    Traceback (most recent call last):
    ...
    xlascope.xla.cache.cache_folder.DamagedEntryError: its checksum is wrong
    """
    if not content.startswith(_MAGIC):
        raise DamagedEntryError("it does not begin as an entry of this version does")
    start = len(_MAGIC) + _DIGEST + _LENGTH.size
    if len(content) < start:
        raise DamagedEntryError("it is cut off")
    (length,) = _LENGTH.unpack_from(content, len(_MAGIC) + _DIGEST)
    payload = memoryview(content)[start:]
    if hashlib.sha256(payload).digest() != content[len(_MAGIC) : len(_MAGIC) + _DIGEST]:
        raise DamagedEntryError("its checksum is wrong")
    try:
        facts = json.loads(bytes(payload[:length]))
    except ValueError:
        raise DamagedEntryError("its description cannot be read") from None
    if facts.get("key") != key:
        raise DamagedEntryError("it is the entry of another key")
    return Entry(facts, bytes(payload[length:]))


class CacheFolder:
    """Folder of cache entries by key at ``path``, which is created at the first write.

    One that is ``shared`` belongs to whoever shares it: nothing is written or removed there.
    """

    def __init__(self, path: str, *, shared: bool = False) -> None:
        self.path, self._shared = path, shared
        self._bytes_before_recount = 0

    def read(self, key: str) -> Entry | None:
        """Return the entry of a key and mark it as used now; None if there is none.

        A damaged entry is removed, unless the folder is shared.
        """
        try:
            with open_shared_folder(self.path) if self._shared else self._open() as folder:
                return unpack(key, folder.read(key + _SUFFIX))
        except FileNotFoundError:
            pass
        except ForeignFileError as error:
            self._warn_foreign_file(error)
        except OSError as error:
            self._warn_once("unusable", f"cannot be read ({error}); programs are compiled")
        except DamagedEntryError as error:
            self.discard(key, str(error))
        return None

    def write(self, key: str, entry: Entry, bound: int) -> bool:
        """Write an entry and return whether it was stored.

        The least recently used entries are evicted when all of them exceed ``bound`` bytes; a negative ``bound`` means
        no limit. The total is recounted whenever this process has added a hundredth of the bound, so it may exceed the
        bound by that much.
        """
        content = pack(key, entry)
        if 0 <= bound < len(content):
            return False
        try:
            with open_private_folder(self.path, make=True) as folder:
                folder.write(key + _SUFFIX, content, _PART_SUFFIX)
                self._bytes_before_recount -= len(content)
                if self._bytes_before_recount < 0 <= bound:
                    self._bytes_before_recount = min(bound - _evict_entries(folder, bound), bound // 100)
        except ForeignFileError as error:
            self._warn_foreign_file(error)
            return False
        except OSError as error:
            self._warn_once("unusable", f"cannot be written ({error}); what is compiled is not kept")
            return False
        return True

    def discard(self, key: str, reason: str) -> None:
        """Remove the damaged entry of a key, and warn about it with ``reason``, once for each folder."""
        consequence = "the program is compiled" if self._shared else "it is removed, and the program compiled"
        self._warn_once("damage", f"holds a damaged entry: {reason}; {consequence}")
        if not self._shared:
            with contextlib.suppress(OSError, ForeignFileError), self._open() as folder:
                folder.remove(key + _SUFFIX)

    def shrink(self, bound: int) -> int:
        """Evict the least recently used entries if all exceed ``bound`` bytes; return the bytes left.

        A tenth of the bound is free afterwards, so that a full folder is not sorted at each write.
        """
        with self._open() as folder:
            return _evict_entries(folder, bound)

    def _open(self) -> contextlib.AbstractContextManager[PrivateFolder]:
        return open_private_folder(self.path, make=False)

    def _warn_foreign_file(self, error: ForeignFileError) -> None:
        self._warn_once("foreign", f"is not used, because it holds native code: {error}. Programs are compiled")

    def _warn_once(self, kind: str, text: str) -> None:
        if (kind, self.path) not in _warned:
            _warned.add((kind, self.path))
            warnings.warn(
                f"the compilation cache in {self.path} {text} (said once; later ones are not reported)", stacklevel=2
            )


def _evict_entries(folder: PrivateFolder, bound: int) -> int:
    """Evict the least recently used entries if all exceed ``bound`` bytes, and return the remaining bytes.

    A tenth of the bound is free afterwards.
    """
    files = sorted(_list_entries(folder))
    total = sum(size for _, size, _ in files)
    if total <= bound:
        return total
    for _, size, name in files:
        if total <= bound - bound // 10:
            break
        with contextlib.suppress(FileNotFoundError):  # another process removed it first
            folder.remove(name)
        total -= size
    return total


def _list_entries(folder: PrivateFolder) -> list[tuple[float, int, str]]:
    """Return the entries as (time of last use, size, name), and remove unfinished files that were abandoned."""
    entries = []
    for name, facts in folder.list_files():
        if name.endswith(_SUFFIX):
            entries.append((facts.st_mtime, facts.st_size, name))
        elif name.endswith(_PART_SUFFIX) and time.time() - facts.st_mtime > _STALE_PART_SECONDS:
            with contextlib.suppress(FileNotFoundError):
                folder.remove(name)
    return entries
