"""Which calls of a shared program stay timed: the same ones in all processes, and boundedly many."""

import pytest

from xlascope.inspect.running.shared_calls import BLOCK_CALLS, MAX_LAST_CALLS, MAX_SAMPLED_CALLS, CallSample


def sample_of(count):
    sample = CallSample()
    for number in range(count):
        sample.add(number, float(number), number + 0.5)
    return sample.rows()


@pytest.mark.parametrize("count", [1, 100, 1024, 5000, 100_000])
def test_calls_that_stay_are_bounded_and_whole_blocks(count):
    rows = sample_of(count)
    numbers = [number for number, _, _ in rows]
    assert len(rows) <= MAX_LAST_CALLS + MAX_SAMPLED_CALLS and numbers == sorted(set(numbers))
    assert all((began, ended) == (number, number + 0.5) for number, began, ended in rows)
    assert numbers[-min(count, MAX_LAST_CALLS) :] == list(range(max(0, count - MAX_LAST_CALLS), count))
    earlier = [number for number in numbers if number < count - MAX_LAST_CALLS]
    assert all(set(range(n - n % BLOCK_CALLS, n - n % BLOCK_CALLS + BLOCK_CALLS)) <= set(numbers) for n in earlier)
    assert (count <= 1024 and len(rows) == count) or len(rows) > MAX_SAMPLED_CALLS / 2


@pytest.mark.parametrize("count", [3000, 40_000])
def test_a_process_that_is_a_little_ahead_keeps_the_same_calls(count):
    first, ahead = ({number for number, _, _ in sample_of(n)} for n in (count, count + 3))
    assert len(first & ahead) >= len(first) - 8
    stride_doubled = {number for number, _, _ in sample_of(2 * count)}
    assert len([n for n in stride_doubled & first if n < count - MAX_LAST_CALLS]) >= MAX_SAMPLED_CALLS / 4
