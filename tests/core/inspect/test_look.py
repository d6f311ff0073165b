"""Views of arrays: statistics and slices against NumPy, access in pieces, and what cannot be looked at."""

import json
import os
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect
from xlascope.inspect import UnviewableArrayError
from xlascope.inspect.arrays import array_store, host_array, slices
from xlascope.inspect.arrays.array_statistics import measure_array
from xlascope.inspect.arrays.array_store import ArrayStore, encode_slice, parse_request
from xlascope.inspect.arrays.host_array import HostArray
from xlascope.inspect.arrays.slices import SliceRequest, default_request, read_slice
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.inspect.engine.value_runs import run_statistics

RANDOM = np.random.default_rng(7)
SPECIAL = np.array([0.0, -0.0, 1e-40, -3.0, np.nan, np.inf, -np.inf, 2.5], np.float32)
ARRAYS = {
    "float32": RANDOM.normal(size=(7, 5, 9)).astype(np.float32),
    "special": SPECIAL,
    "float64": RANDOM.normal(size=(4, 6)) * 1e200,
    "float16": RANDOM.normal(size=(3, 40)).astype(np.float16),
    "bfloat16": RANDOM.normal(size=(3, 40)).astype(ml_dtypes.bfloat16),
    "float8": RANDOM.normal(size=(30,)).astype(ml_dtypes.float8_e4m3fn),
    "int32": RANDOM.integers(-9, 9, (5, 8), np.int32),
    "int64": np.array([[2**63 - 1, -(2**63)], [2**62, 3]]),
    "uint64": np.array([2**64 - 1, 0, 2**63], np.uint64),
    "int4": np.arange(-8, 8).astype(ml_dtypes.int4),
    "uint8": np.arange(256, dtype=np.uint8).reshape(16, 16),
    "bool": RANDOM.random((6, 7)) > 0.5,
    "complex64": (RANDOM.normal(size=(4, 5)) + 1j * RANDOM.normal(size=(4, 5))).astype(np.complex64),
    "nan alone": np.full((3, 3), np.nan, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.float32(-2.5),
    "big endian": RANDOM.normal(size=(4, 5)).astype(">f8"),
    "strided": np.asfortranarray(RANDOM.normal(size=(9, 11)))[::2, 1:],
}


def numbers_of(array: Any) -> Any:
    """Return the elements as float64 or exact integers, parts of complex numbers one after the other."""
    array = np.asarray(array)
    if array.dtype.kind == "c":
        return np.concatenate([array.real.ravel(), array.imag.ravel()]).astype(np.float64)
    is_integer = array.dtype.kind in "iub" or array.dtype == ml_dtypes.int4
    return array.ravel().astype(object if array.dtype.itemsize == 8 and is_integer else np.float64)


@pytest.mark.parametrize("chunk", [1, 4, 1 << 20])
@pytest.mark.parametrize("name", ARRAYS)
def test_statistics_are_those_of_numpy(name: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array = ARRAYS[name]
    whole = HostArray.iterate_chunks
    monkeypatch.setattr(HostArray, "iterate_chunks", lambda self: whole(self, chunk))
    facts = measure_array(HostArray(array))
    stats, numbers = facts.statistics, numbers_of(array)
    floats = numbers.astype(np.float64)
    finite = numbers[np.isfinite(floats)]
    assert stats.elements == numbers.size
    assert (stats.nans, stats.infs) == (np.isnan(floats).sum(), np.isinf(floats).sum())
    assert stats.zeros == (floats == 0).sum() and stats.negatives == (floats < 0).sum()
    if not finite.size:
        assert (stats.minimum, stats.maximum, stats.mean) == (None, None, None)
        return
    assert (stats.minimum, stats.maximum) == (finite.min(), finite.max())
    assert stats.mean == pytest.approx(float(finite.sum()) / finite.size, rel=1e-12, abs=1e-12)
    root = np.sqrt(np.mean(np.square(finite.astype(np.longdouble))))
    assert stats.root_mean_square == pytest.approx(float(root), rel=1e-12)


@pytest.mark.parametrize("name", ["float32", "special", "float16", "bfloat16", "complex64"])
def test_statistics_are_those_of_the_twin(name: str) -> None:
    """Which are measured on the device, in one reduction."""
    array = ARRAYS[name]
    run = run_statistics(trace_call(lambda x: x * jnp.ones((), x.dtype), (jnp.asarray(array),), {}), None, "nan")
    twin = next(value.statistics for value in run.values if value.position == "operand")
    own = measure_array(HostArray(array)).statistics
    fields = ("elements", "zeros", "subnormals", "nans", "infs", "negatives", "minimum", "maximum", "exponents")
    assert twin is not None
    assert [getattr(own, field) for field in fields] == [getattr(twin, field) for field in fields]


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_places_are_the_first_ones(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = HostArray.iterate_chunks
    monkeypatch.setattr(HostArray, "iterate_chunks", lambda self: whole(self, chunk))
    array = np.ones((4, 5, 6), np.float32)
    array[2, 1, 3] = array[3, 0, 0] = np.nan
    array[1, 4, 5] = np.inf
    array[1, 0, 2] = array[3, 3, 3] = -7.0
    facts = measure_array(HostArray(array))
    assert (facts.first_nan, facts.first_inf, facts.largest) == ((2, 1, 3), (1, 4, 5), (1, 0, 2))
    smallest = measure_array(HostArray(np.array([5, -(2**63), 2**63 - 1])))
    assert smallest.largest == (1,)


def test_keys_are_shown_by_their_words() -> None:
    keys = xs.random.split(xs.random.key(3), 5)
    keys = jnp.concatenate([keys, keys[:2]])
    looked = inspect.look(keys, "keys")
    host = HostArray(keys)
    assert looked.facts.distinct_keys == 5 and looked.facts.statistics.elements == 7
    assert host.kind == "key" and host.shape == (7, 2)
    assert (read_slice(host, default_request(host)).minimum == np.asarray(xs.random.key_data(keys))).all()
    assert "key<fry>[7], 56 B" in looked.text and "7 keys, 5 of them different" in looked.text


# Slices ---------------------------------------------------------------------------------------------------------------

REQUESTS = [
    SliceRequest(0, 1, (0, 0, 3)),
    SliceRequest(1, 0, (0, 0, 8)),
    SliceRequest(2, 1, (4, 0, 0), None, (3, 2)),
    SliceRequest(0, 2, (0, 2, 0), (1, 6, 2, 9), (2, 3)),
    SliceRequest(None, 2, (6, 4, 0), None, (1, 4)),
    SliceRequest(1, None, (6, 4, 0), None, (2, 2)),
    SliceRequest(None, None, (6, 4, 8)),
    SliceRequest(0, 1, (99, 99, 99), (5, 99, -3, 2)),
]


def expected_slice(array: Any, request: SliceRequest) -> Any:
    """Return a slice by NumPy's indexing."""
    index: list[Any] = [min(number, size - 1) for number, size in zip(request.at, array.shape, strict=True)]
    for axis in (request.rows, request.columns):
        if axis is not None:
            index[axis] = slice(None)
    values = array[tuple(index)]
    if request.rows is not None and request.columns is not None:
        return values.T if request.rows > request.columns else values
    return values.reshape((-1, 1) if request.columns is None else (1, -1))


@pytest.mark.parametrize("chunk", [1, 1 << 20])
@pytest.mark.parametrize("request_number", range(len(REQUESTS)))
@pytest.mark.parametrize("bad", [False, True])
def test_slices_are_those_of_numpy(request_number: int, bad: bool, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "CHUNK_SIZE", chunk)
    array = ARRAYS["float32"].copy()
    if bad:
        array[0], array[2, 1], array[6, 4, 8] = np.nan, -np.inf, np.inf
    request = REQUESTS[request_number]
    values = expected_slice(array, request)
    piece = read_slice(HostArray(array), request)
    assert piece.size == values.shape
    top, bottom, left, right = piece.window
    shown = values[top:bottom, left:right]
    high, wide = piece.block
    assert -(-shown.shape[0] // high) <= request.room[0] and -(-shown.shape[1] // wide) <= request.room[1]
    if piece.maximum is None:
        np.testing.assert_array_equal(piece.minimum, shown)
        return
    for row in range(piece.minimum.shape[0]):
        for column in range(piece.minimum.shape[1]):
            block = shown[row * high : (row + 1) * high, column * wide : (column + 1) * wide]
            finite = block[np.isfinite(block)]
            place = row, column
            assert (0 if piece.nans is None else piece.nans[place]) == np.isnan(block).sum()
            assert (0 if piece.infs is None else piece.infs[place]) == np.isinf(block).sum()
            if finite.size:
                assert (piece.minimum[place], piece.maximum[place]) == (finite.min(), finite.max())
                assert piece.mean[place] == pytest.approx(finite.mean(dtype=np.float64), rel=1e-6)
            else:
                assert np.isnan([piece.minimum[place], piece.maximum[place], piece.mean[place]]).all()


@pytest.mark.parametrize("part", ["abs", "real", "imag"])
def test_parts_of_complex_numbers(part: Any) -> None:
    array = ARRAYS["complex64"]
    piece = read_slice(HostArray(array), default_request(HostArray(array))._replace(part=part))
    np.testing.assert_array_equal(piece.minimum, {"abs": np.abs, "real": np.real, "imag": np.imag}[part](array))


@pytest.mark.parametrize(
    "name, encoding",
    [
        ("float32", "f4"),
        ("float64", "f8"),
        ("bfloat16", "f4"),
        ("float8", "f4"),
        ("int32", "i4"),
        ("int64", "i8"),
        ("uint64", "u8"),
        ("bool", "u4"),
        ("int4", "i4"),
        ("scalar", "f4"),
        ("empty", "f4"),
    ],
)
def test_elements_are_sent_exactly(name: str, encoding: str) -> None:
    host = HostArray(ARRAYS[name])
    answer, buffers = encode_slice(read_slice(host, default_request(host)))
    assert answer["parts"] == [["minimum", encoding]]
    sent = np.frombuffer(buffers[0], np.dtype(f"<{encoding}")).reshape(answer["cells"])
    shown = expected_slice(np.asarray(ARRAYS[name]), default_request(host))
    assert sent.tolist() == shown.astype(sent.dtype).tolist()
    assert name == "empty" or sent.shape == shown.shape


@pytest.mark.parametrize(
    "question, words",
    [
        ({"rows": 3, "columns": 1, "at": [0, 0, 0]}, "no axis 3"),
        ({"rows": 1, "columns": 1, "at": [0, 0, 0]}, "two different axes"),
        ({"rows": "x", "columns": 1}, "an axis is a number, got 'x'"),
        ({"rows": 0, "columns": 1, "at": ["a"]}, "whole numbers"),
        ({"rows": 0, "columns": 1, "part": "phase"}, "abs, real or imag, got 'phase'"),
        ({"rows": 0, "columns": 1, "window": [1, 2]}, "unpack"),
    ],
)
def test_wrong_questions_are_refused(question: Any, words: str) -> None:
    host = HostArray(ARRAYS["float32"])
    with pytest.raises(ValueError, match=words):
        read_slice(host, parse_request(question, host))


# Arrays on devices ----------------------------------------------------------------------------------------------------

SHARDED = """
import numpy as np, xlascope as xs, xlascope.numpy as jnp
from xlascope.inspect.arrays.array_statistics import measure_array
from xlascope.inspect.arrays.host_array import HostArray
from xlascope.inspect.arrays.slices import SliceRequest, read_slice
mesh, P = xs.make_mesh((2, 2), ("a", "b")), xs.sharding.PartitionSpec
values = np.arange(4 * 6 * 8, dtype=np.float32).reshape(4, 6, 8)
for spec in (P("a", "b"), P(None, "b"), P(("a", "b")), P()):
    host = HostArray(xs.device_put(jnp.asarray(values), xs.sharding.NamedSharding(mesh, spec)))
    for index in ((slice(None),) * 3, (1, slice(2, 5), slice(None)), (slice(1, 4), 3, 7), (3, 5, 7)):
        assert (host.read(index) == values[index]).all(), (spec, index)
    assert read_slice(host, SliceRequest(2, 0, (0, 3, 0))).minimum.tolist() == values[:, 3].T.tolist()
    assert measure_array(host).statistics.mean == values.mean()
    print(host.sharding)
"""


def test_arrays_on_several_devices_are_read_in_pieces() -> None:
    environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": "4"}
    run = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 4 and not run.stderr, run.stderr
    assert "sharded" in lines[0] and "on 4 devices" in lines[0] and lines[3].startswith("replicated on 4 devices")


def deleted() -> Any:
    array = jnp.ones(3)
    array.delete()
    return array


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: "text", "got str"),
        (lambda: None, "got NoneType"),
        (lambda: np.array(["a"]), "elements of type <U1"),
        (lambda: xs.ShapeDtypeStruct((3,), jnp.float32), "got ShapeDtypeStruct"),
        (deleted, "donated or deleted"),
        (lambda: xs.jit(inspect.look)(jnp.ones(3)), "this one is traced"),
        (lambda: xs.vmap(inspect.look)(jnp.ones(3)), "this one is traced"),
        (lambda: [[1], [2, 3]], "NumPy makes no array of this list: setting an array element"),
        (lambda: [xs.random.key(0)], "no array of this list: keys are no numbers"),
        (lambda: np.ma.array([1.0, 9e9], mask=[0, 1]), r"x\.filled\(numpy\.nan\)"),
        (lambda: np.ones(2, np.longdouble), r"got float\d+: look at x\.astype\('float64'\)"),
        (lambda: np.ones(2, np.clongdouble), r"got complex\d+: look at x\.astype\('complex128'\)"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(make: Any, words: str) -> None:
    with pytest.raises(UnviewableArrayError, match=words):
        inspect.look(make())


@pytest.mark.parametrize("name", ARRAYS)
def test_a_look_prints_and_converts_to_json(name: str) -> None:
    for array in (
        ARRAYS[name],
        *([jnp.asarray(ARRAYS[name])] if "64" not in name and name not in ("strided", "big endian") else []),
    ):
        looked = inspect.look(array, "x")
        assert looked.text.startswith("x: ")
        data = json.loads(json.dumps(looked.to_json(), allow_nan=False))["array"]
        assert data["shape"] == list(np.shape(ARRAYS[name])) and data["elements"] == looked.facts.statistics.elements


def test_the_largest_complex_number_may_have_a_magnitude_beyond_its_dtype() -> None:
    for dtype in (np.complex64, np.complex128):
        top = np.finfo(dtype).max
        looked = inspect.look(np.array([1, complex(top, top), complex(np.inf, 0)], dtype))
        assert looked.facts.largest == (1,) and looked.facts.first_inf == (2,)
        assert "|░█I|" in looked.text


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "\ud800", "\u202eabc", "x" * 500])
def test_a_name_is_one_line_without_control_characters(name: str) -> None:
    first, *rest = inspect.look(np.ones(2), name).text.splitlines()
    assert first.endswith(": f64[2], 16 B") and len(first) < 100 and first.encode() and len(rest) == 4
    assert not {"\x1b", "\u202e"} & {*first}


def test_a_look_is_saved_as_text_or_statistics(tmp_path: Any) -> None:
    looked = inspect.look(np.arange(3.0), "x")
    looked.save(tmp_path / "x.txt")
    looked.save(tmp_path / "x.json")
    assert (tmp_path / "x.txt").read_text() == f"{looked.text}\n"
    assert json.loads((tmp_path / "x.json").read_text())["array"]["maximum"] == 2.0
    with pytest.raises(ValueError, match=r"x\.png: a look at an array is saved as \.json or \.txt"):
        looked.save(tmp_path / "x.png")


# Bounds ---------------------------------------------------------------------------------------------------------------

GIB = 1 << 30


class Sized(np.ndarray):
    """Array of NumPy that says that it has as many bytes as somebody wants."""

    claimed = 0
    nbytes = property(lambda self: self.claimed)


def sized(size: int) -> Any:
    array = np.arange(3.0).view(Sized)
    array.claimed = size
    return array


@pytest.mark.parametrize(
    "free, sizes, held",
    [
        (100 * GIB, [GIB] * 5, [True] * 5),
        (100 * GIB, [GIB] * 6, [False] + [True] * 5),
        (100 * GIB, [GIB] * 12, [False] * 7 + [True] * 5),
        (100 * GIB, [1] * 12, [False] * 4 + [True] * 8),
        (10 * GIB, [1, GIB], [False, False]),
        (10 * GIB, [GIB // 4] * 3, [False, True, True]),
    ],
)
def test_arrays_are_held_within_a_share_of_the_free_memory(
    free: int, sizes: list[int], held: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_store, "free_bytes", lambda: free)
    store = ArrayStore()
    handles = [store.add(sized(size), "x") for size in sizes]
    assert [is_there(store, handle) for handle in handles] == held


def is_there(store: ArrayStore, handle: str) -> bool:
    try:
        store.describe(handle)
    except LookupError as error:
        assert "run the cell again" in str(error)
        return False
    return True


def test_an_array_that_the_user_holds_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_store, "free_bytes", lambda: 1)
    store, array = ArrayStore(), jnp.arange(3.0)
    handle = store.add(array, "x")
    assert store.measure(handle)["maximum"] == 2.0
    del array
    assert not is_there(store, handle)
    assert len({store.add(1.0, "x") for _ in range(200)}) == 200 and len(store._entries) == array_store.MAX_HANDLES


def test_a_copy_from_another_device_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        is_fully_addressable, nbytes, sharding = True, GIB, None
        platform = "gpu"
        addressable_shards = ()

        def devices(self) -> Any:
            return {self}

    monkeypatch.setattr(host_array, "free_bytes", lambda: 10 * GIB)
    with pytest.raises(UnviewableArrayError, match=r"1\.07 GB, and a copy on the host may take 0\.54 GB \(5% of"):
        HostArray(Elsewhere())
