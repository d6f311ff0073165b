"""What runs on the devices of one process runs on those of several, with the same numbers."""

from pathlib import Path

import numpy as np
import pytest
from tests.core.conftest import load
from tests.core.parallel.conftest import on_eight  # noqa: F401  a fixture
from tests.core.processes.conftest import values_differ

FILE = Path(__file__).with_name("joint_programs.py")
PROGRAMS = load(FILE)
ALIKE = [program.__name__ for program in PROGRAMS.ALIKE]
OWN = [program.__name__ for program in PROGRAMS.OWN]
#: Devices of process 1 have the numbers 2048 and 2049.
OF_PROCESS = {0: {0: 0, 1: 1}, 1: {2: 2048, 3: 2049}}


@pytest.fixture(scope="module")
def found(in_processes):
    return in_processes(FILE, "every", 2, 2)


@pytest.fixture(scope="module")
def of_one_process(on_eight):  # noqa: F811
    return on_eight(FILE, "alike")


def is_shard(value):
    return isinstance(value, tuple) and len(value) == 4 and isinstance(value[1], tuple) and isinstance(value[0], int)


def part_of(value, process):
    """The part of a result of one process with all devices that lies on the devices of one of two processes."""
    if isinstance(value, dict):
        return {name: part_of(item, process) for name, item in value.items()}
    if is_shard(value):
        return (OF_PROCESS[process].get(value[0]), *value[1:])
    if isinstance(value, list | tuple):
        parts = [part_of(item, process) for item in value]
        if len(value) == 4 and all(map(is_shard, value)):
            return [part for part in parts if part[0] is not None]
        return type(value)(parts)
    return value


@pytest.mark.parametrize("process", [0, 1])
@pytest.mark.parametrize("name", [name for name in ALIKE if name != "scalars" and name != "keys"])
def test_each_process_has_its_part_of_what_one_process_has(name, process, found, of_one_process):
    assert values_differ(found[process][name], part_of(of_one_process[name], process)) == []


@pytest.mark.parametrize("name", ["scalars", "keys"])
def test_process_0_has_what_one_process_has_first(name, found, of_one_process):
    """These keep the shards of the first device only."""
    mine, other = found[0][name], part_of(of_one_process[name], 0)
    assert values_differ(mine, other) == []


def test_processes_know_of_each_other(found):
    ids = [0, 1, 2048, 2049]
    assert found[0]["facts"] == (0, 2, 4, 2, ids, ids[:2], ids[2:], True)
    assert found[1]["facts"] == (1, 2, 4, 2, ids, ids[2:], ids[2:], True)


def test_members_of_an_array_tell_what_is_here(found):
    for process in (0, 1):
        *flags, part, absent, replicated, indices = found[process]["members"]
        assert flags == [False, False, (8, 4), 4, 4] and absent == 2 and replicated == (False, True) and indices == 2
        np.testing.assert_array_equal(part, PROGRAMS.WHOLE[4 * process + 2 : 4 * process + 4])
        assert found[process]["texts"][1] == "Array(shape=(8, 4), dtype=float32)"


def test_arrays_are_built_of_the_data_of_each_process(found):
    for process in (0, 1):
        for shape, dtype, shards in found[process]["built"]:
            assert (shape, dtype) == ((8, 4), "float32")
            for device, index, _, data in shards:
                assert device in OF_PROCESS[process].values()
                np.testing.assert_array_equal(data, PROGRAMS.WHOLE[index])


def test_values_are_exchanged(found):
    for process in (0, 1):
        first, second, stacked, tiled, whole, numbers = found[process]["gathered"]
        assert [first["b"], second["b"]] == [0, 1] and first["c"] and not second["c"]
        np.testing.assert_array_equal(stacked["a"], [[0, 0, 0], [1, 1, 1]])
        np.testing.assert_array_equal(tiled, [0, 0, 0, 1, 1, 1])
        np.testing.assert_array_equal(whole, PROGRAMS.WHOLE)
        np.testing.assert_array_equal(numbers, [[0, 0], [1, 1]])
        assert found[process]["synchronized"] == {"unequal": "AssertionError", "elsewhere": "AssertionError"}


REFUSED = {
    **dict.fromkeys(("fetched", "tolist", "got", "initialized again", "far"), "RuntimeError"),
    **{"converted": "TypeError", "computed here": "nothing", "mixed": "ValueError", "split numpy": "ValueError"},
}


def test_what_no_process_can_do_is_refused(found):
    assert found[0]["refused"] == found[1]["refused"] == REFUSED


def test_pmap_gives_each_process_the_results_of_its_examples(found):
    mine = [PROGRAMS.WHOLE[4 * process : 4 * process + 2] for process in (0, 1)]
    everything = np.concatenate(mine)
    for process in (0, 1):
        calls, total = found[process]["replicas"]
        np.testing.assert_allclose(total, everything.sum(0))
        for shards in calls:
            for (_, index, _, data), expected in zip(shards, mine[process] - everything.mean(0), strict=True):
                assert index[0].stop - (index[0].start or 0) == 1
                np.testing.assert_allclose(data[0], expected, rtol=1e-6)


@pytest.mark.slow
def test_processes_of_jax_give_the_same(in_processes, found):
    expected = in_processes(FILE, "every", 2, 2, "jax", JAX_CPU_COLLECTIVES_IMPLEMENTATION="gloo")
    for process in (0, 1):
        assert values_differ(found[process], expected[process]) == []


def test_each_process_calls_its_own_python(found):
    for process in (0, 1):
        shards, calls = found[process]["called_back"]
        assert calls == [(2, 4), (2, 4)]
        for _, index, _, data in shards:
            np.testing.assert_array_equal(data, PROGRAMS.WHOLE[index] * 2)


@pytest.mark.slow
def test_a_cache_on_disk_serves_all_processes(in_processes, tmp_path):
    first, again = [in_processes(FILE, "cached", 2, 2, XLASCOPE_COMPILATION_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert "miss" in first[0][0]
    assert all(set(caches) == {"hit"} for caches, _ in again)
    assert [value for _, value in first] == [value for _, value in again]


@pytest.mark.slow
def test_programs_need_not_be_compared(in_processes, found):
    uncompared = in_processes(FILE, "every", 2, 2, XLASCOPE_COMPARE_PROGRAMS="0")
    assert values_differ(uncompared, found) == []
