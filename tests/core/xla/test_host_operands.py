"""NumPy arrays as arguments of calls that repeat: what is transferred, and that each call sees what it was given."""

import threading
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.runtime import array_spans
from xlascope.xla.arrays import host_operands

A = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
NANS = np.frombuffer(np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32).tobytes(), np.float32)
LARGE = np.ones(1 << 15, np.float32)


@pytest.fixture
def transfers(monkeypatch) -> Iterator[list[Any]]:
    """The values that were transferred for arguments of calls that repeat."""
    values: list[Any] = []
    transfer = host_operands.HostOperand.transfer
    monkeypatch.setattr(host_operands.HostOperand, "transfer", lambda self, x: [values.append(x), transfer(self, x)][1])
    yield values


#: Arguments of one call after the other, and how many are transferred from the second call on.
CALLS = {
    "the same array": ([A] * 5, 1),
    "equal arrays": ([A, A.copy(), A.copy(), A.copy()], 1),
    "float64": ([A.astype(float)] * 4, 1),
    "float64 after float32": ([A, A, A.astype(float), A.astype(float), A.astype(float)], 2),
    "int64 and int32": ([np.arange(3), np.arange(3), np.arange(3, dtype=np.int32), np.arange(3)], 3),
    "booleans": ([A > 2] * 4, 1),
    "complex numbers": ([A * 1j] * 4, 1),
    "no axes": ([np.array(2.5)] * 4, 1),
    "no axes, then a NumPy scalar": ([np.array(2.5), np.array(2.5), np.float64(3.5), np.array(3.5)], 3),
    "a NumPy scalar, then no axes": ([np.float32(2.5), np.array(3.5), np.array(4.5)], 0),
    "signed zeros": ([np.zeros(3), np.zeros(3), -np.zeros(3), -np.zeros(3), np.zeros(3)], 3),
    "payloads of NaN": ([NANS, NANS, NANS[::-1].copy(), NANS], 3),
    "another byte order": ([A, A, A.view(">f4"), A.view(">f4"), A], 4),
    "read-only": ([np.broadcast_to(A, (1, 2, 3))] * 4, 1),
    "not contiguous": ([A[:, ::2]] * 4, 3),
    "columns first": ([A, A, np.asfortranarray(A), A], 3),
    "a subclass": ([A.view(np.recarray)] * 4, 3),
    "bfloat16": ([A.astype(ml_dtypes.bfloat16)] * 4, 1),
    "no elements": ([A[:0]] * 3, 2),
    "large arrays": ([LARGE] * 4, 3),
    "changes": ([A * i for i in range(12)], 11),
    "changes, then none": ([A * i for i in range(12)] + [A] * 3, 14),
    "changes now and then": ([A * (i // 3) for i in range(36)], 12),
}


@pytest.mark.parametrize("case", CALLS)
def test_each_call_sees_its_argument(case: str, transfers: list[Any]) -> None:
    arguments, count = CALLS[case]
    flat = xs.jit(lambda x: jnp.ravel(x))
    for x in arguments:
        result = np.asarray(flat(x))
        assert result.tobytes() == np.ravel(x).astype(result.dtype).tobytes()
    assert len(transfers) == count


def test_an_argument_that_is_written_to_is_transferred_again(transfers: list[Any]) -> None:
    add = xs.jit(lambda x, y: x + y)
    x, y = np.ones(3, np.float32), np.full(3, 2, np.float32)
    for i in range(6):
        x[1] = i // 2
        assert add(x, y).tolist() == [3, i // 2 + 2, 3]
    assert len(transfers) == 3 + 1


def test_a_donated_argument_is_transferred_at_each_call(transfers: list[Any]) -> None:
    add = xs.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(4):
        assert add(A, A).tolist() == (A + A).tolist()
    assert len(transfers) == 3 + 1


def _aligned(size: int) -> np.ndarray[Any, Any]:
    """Return an array whose memory XLA:CPU could take as it is: it begins at a multiple of 64 bytes."""
    memory = np.empty(4 * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * size].view(np.float32)


@pytest.mark.parametrize("donated", [(), (0,)], ids=["kept", "donated"])
def test_a_large_argument_may_be_written_to_when_the_call_returns(donated: tuple[int, ...]) -> None:
    """The program reads it late: for jax, which shares its memory, the sum is of what was written meanwhile."""

    def read_late(x: Any, _: Any) -> Any:
        late = x + 0 * jnp.sort(jnp.sin(x))
        return jnp.sum(late), x

    function = xs.jit(read_late, donate_argnums=donated)
    x, other = _aligned(1 << 19), np.zeros(1 << 19, np.float32)
    for number in range(4):  # the first call is Python's, later ones are repeated in C++
        x[:] = number
        total, same = function(x, other)
        x[:] = other[:] = -1
        assert total == number << 19
        assert (np.asarray(same) == number).all()
    assert (x == -1).all()


def test_a_guard_sees_each_transfer() -> None:
    double = xs.jit(lambda x: x * 2)
    for _ in range(3):
        double(A)
    with xs.transfer_guard("disallow"), pytest.raises(RuntimeError, match="host-to-device"):
        double(A)
    assert double(A).tolist() == (A * 2).tolist()


def test_no_user_meets_a_cached_argument(transfers: list[Any]) -> None:
    double = xs.jit(lambda x: x * 2)
    x = np.ones((11, 7), np.float32)
    for _ in range(3):
        double(x)
    assert not [each for each in xs.live_arrays() if each.shape == x.shape]
    for each in xs.devices()[0].client.live_arrays():
        if each.shape == x.shape:
            each.delete()
    assert double(x).tolist() == (x * 2).tolist()
    assert len(transfers) == 2


def test_a_masked_array_is_refused_by_a_call_that_repeats() -> None:
    double = xs.jit(lambda x: x * 2)
    for _ in range(3):
        double(A)
    with pytest.raises(ValueError, match="masked"):
        double(np.ma.masked_array(A, A > 2))


def test_threads_share_a_function() -> None:
    double = xs.jit(lambda x: x * 2)
    wrong = []

    def call(number: int) -> None:
        for i in range(300):
            x = np.full(50, number if i % 5 else i, np.float32)
            if not (np.asarray(double(x)) == 2 * x).all():
                wrong.append((number, i))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class _Receiver:
    """Count of the transfers of this thread."""

    def __init__(self) -> None:
        self.thread, self.waiting_since, self.transfers = threading.get_ident(), 0.0, 0

    def add(self, activity: str, began: float, ended: float) -> None:
        self.transfers += activity == "to_device"

    def enter(self, activity: str) -> None:
        self.transfers += activity == "to_device"

    def add_wait(self, began: float) -> None:
        pass

    def leave(self) -> None:
        pass


def test_who_watches_the_arrays_hears_of_each_transfer() -> None:
    double = xs.jit(lambda x: x * 2)
    double(A)
    receiver = _Receiver()
    stop = array_spans.watch_arrays(receiver)
    try:
        for x in (A, A, A, A * 2, A * 3, A * 3):
            double(x)
    finally:
        stop()
    assert receiver.transfers == 3
