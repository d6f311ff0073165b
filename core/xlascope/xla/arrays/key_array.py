"""Arrays of typed keys: jaxlib has no such element type, so each holds an array of key words with one more axis.

To jaxlib's call cache a key array is a container of its words (``call_registry``), so a call that repeats with
keys stays in C++, and is never confused with a call on the words alone. To users it is a leaf like any array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.avals import ShapedArray, make_aval
from ...ir.user_frames import compose_message, user_line, where_text
from ...key_types import KeyType, is_key
from ...runtime.boot import call_registry

_KEY_DATA_HINT = "xlascope.random.key_data(keys) has the words of keys as an array"


class KeyArray:
    """Array of typed keys on a device.

    ``aval`` is the type of the array of keys; ``words`` is the array of key words, which jaxlib holds, with one more
    axis.
    """

    __slots__ = ("__weakref__", "aval", "uses", "words")
    __array_priority__ = 100
    __hash__: Any = None

    #: The type of the keys' array.
    aval: ShapedArray
    #: The array of words that holds the keys, with one axis more.
    words: Any

    def __init__(self, words: Any, aval: ShapedArray) -> None:
        self.words, self.aval = words, aval
        #: The uses of each key, while checking for keys that are used twice.
        self.uses: Any = None

    def with_words(self, words: Any) -> KeyArray:
        """Return an array of keys of the same type with another array of key words."""
        return self if words is self.words else KeyArray(words, self.aval)

    # Array attributes -----------------------------------------------------------------------------------------------

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    weak_type = False
    sharding = property(lambda self: self.words.sharding)
    device = property(lambda self: self.words.device)
    committed = property(lambda self: self.words.committed)
    is_fully_addressable = property(lambda self: self.words.is_fully_addressable)
    is_fully_replicated = property(lambda self: self.words.is_fully_replicated)
    _committed = property(lambda self: self.words._committed)
    _sharding = property(lambda self: self.words._sharding)

    def devices(self) -> Any:
        """Return the devices that hold the array, as a set."""
        return self.words.devices()

    def addressable_data(self, index: int) -> KeyArray:
        """Return the keys that the device of this ``index`` among those of the process holds."""
        words = self.words.addressable_data(index)
        return KeyArray(words, make_aval(words.shape[:-1], self.aval.dtype))

    def on_device_size_in_bytes(self) -> int:
        """Return the bytes that the key words take on the devices."""
        return int(self.words.on_device_size_in_bytes())

    def is_deleted(self) -> bool:
        """Return whether the memory was donated or deleted."""
        return bool(self.words.is_deleted())

    def delete(self) -> None:
        """Delete the array and free its memory."""
        self.words.delete()

    def block_until_ready(self) -> KeyArray:
        """Wait until the keys have been computed and return them."""
        self.words.block_until_ready()
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: keys are not copied to the host."""

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of an array without axes")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(<deleted>, {self.aval.str_short()})"
        return f"Array({self.aval.shape}, dtype={self.aval.dtype.name}) overlaying:\n{self.words}"

    def __copy__(self) -> KeyArray:
        return self.with_words(self.words.__copy__())

    def __deepcopy__(self, memo: Any) -> KeyArray:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return _unpickle, (self.words, self.aval.dtype)

    # Unsupported conversions ----------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(f"keys are no numbers that NumPy could hold{where_text(user_line())}: {_KEY_DATA_HINT}")

    def __setitem__(self, index: Any, value: Any) -> None:
        fix = "Instead of keys[index] = key write keys = keys.at[index].set(key)."
        raise TypeError(compose_message("arrays cannot be changed in place.", fix))


def _make_refusal(name: str, description: str) -> Callable[..., Any]:
    def refuse(self: KeyArray, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.aval.str_short()} has no {description}{where_text(user_line())}: {_KEY_DATA_HINT}")

    refuse.__name__ = name
    return refuse


for _name, _description in {
    "__bool__": "truth value",
    "__int__": "value as an int",
    "__float__": "value as a float",
    "__complex__": "value as a complex",
    "__index__": "value as an index",
    "item": "value as a number",
    "tolist": "values as numbers",
    "tobytes": "bytes of its own",
}.items():
    setattr(KeyArray, _name, _make_refusal(_name, _description))


def keys_from_words(words: Any, key_type: KeyType) -> KeyArray:
    """Return the array of keys of type ``key_type`` whose key words lie along the last axis of ``words``."""
    return KeyArray(words, make_aval(words.shape[:-1], key_type))  # type: ignore[arg-type]


def _unpickle(words: Any, key_type: KeyType) -> KeyArray:
    """Restore a pickled array of keys from its key words."""
    return keys_from_words(words, key_type)


def to_physical(x: Any) -> Any:
    """Return what jaxlib holds of an operand or a result: the key words of keys, other values unchanged."""
    return x.words if x.__class__ is KeyArray else x


def wrap_key_results(values: list[Any], avals: list[ShapedArray]) -> list[Any]:
    """Wrap a program's results of key types, which are arrays of key words, in arrays of keys.

    ``avals`` are the types of all results; those of other types are returned unchanged.
    """
    return [KeyArray(y, aval) if is_key(aval.dtype) else y for y, aval in zip(values, avals, strict=True)]


def physical_structure(structure: Any, avals: list[ShapedArray]) -> Any:
    """Return the treedef of results as the call cache sees it, in which an array of keys is a container of its words.

    ``structure`` is the treedef as users see it, ``avals`` are the types of its leaves.
    """
    if not any(is_key(aval.dtype) for aval in avals):
        return structure
    leaves = [KeyArray(0, aval) if is_key(aval.dtype) else 0 for aval in avals]
    return call_registry.flatten(structure.unflatten(leaves))[1]


call_registry.register_node(
    KeyArray,
    lambda keys: ((keys.words,), keys.aval),
    lambda aval, children: KeyArray(children[0], aval),
)
