"""Estimates of collectives by links: values by hand, and what holds for any topology."""

import itertools

import pytest

from xlascope.analysis.costs.exchange import min_bytes_sent
from xlascope.analysis.costs.topology import LevelSizes, Link, Topology, UnknownLinkError, estimate_collective
from xlascope.records import Collective

WITHIN, BETWEEN, HOSTS = Link(1000.0, 1.0), Link(100.0, 10.0), Link(10.0, 100.0)
ALL = Topology(2, 2, WITHIN, BETWEEN, HOSTS)


def collective(kind, devices, operand, result, groups=None):
    return Collective(kind, devices, operand, result, groups or (tuple(range(devices)),))


#: Kind, group, bytes in and out, and the seconds by hand: rounds times latency, and bytes over bandwidth, by level.
EXPECTED = [
    ("all-reduce", (0, 1), 800, 800, 2 * (1 + 400 / 1000)),
    ("all-reduce", (0, 2), 800, 800, 2 * (10 + 400 / 100)),
    ("all-reduce", (0, 4), 800, 800, 2 * (100 + 400 / 10)),
    ("all-reduce", (0, 1, 2, 3), 800, 800, 2 * (1 + 0.4) + 2 * (10 + 200 / 100)),
    ("all-reduce", tuple(range(8)), 800, 800, 2 * (1 + 0.4) + 2 * (10 + 2) + 2 * (100 + 100 / 10)),
    ("all-reduce", tuple(range(16)), 800, 800, 2 * (1 + 0.4) + 2 * (10 + 2) + 2 * (200 + 150 / 10)),
    ("all-gather", (0, 2), 400, 800, 10 + 400 / 100),
    ("reduce-scatter", (0, 1, 2, 3), 800, 200, 1 + 0.4 + 10 + 2),
    ("all-to-all", (0, 1, 2, 3), 800, 800, 1 + (400 / 2) / 1000 + 10 + 400 / 100),
    ("collective-permute", (1, 2), 800, 800, 10 + 800 / 100),
    ("collective-broadcast", (0, 1), 800, 800, 1 + 400 / 1000),
    ("all-reduce", (3,), 800, 800, 0.0),
    ("collective-permute", (3,), 800, 800, 0.0),
]


@pytest.mark.parametrize("kind, group, operand, result, seconds", EXPECTED)
def test_values_by_hand(kind, group, operand, result, seconds):
    item = collective(kind, len(group), operand, result, (group,))
    assert estimate_collective(item, ALL, 16) == pytest.approx(seconds)


@pytest.mark.parametrize("kind", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"])
@pytest.mark.parametrize("shape", list(itertools.product((1, 2, 3), (1, 2, 4), (1, 2, 5))), ids=str)
def test_levels_send_together_the_least(kind, shape):
    """With one bandwidth and no latency at all levels, the time is that of the least bytes that a device sends."""
    within, processes, hosts = shape
    count, link = within * processes * hosts, Link(10.0)
    item = collective(kind, count, 600, 600)
    assert estimate_collective(item, Topology(within, processes, link, link, link), count) == pytest.approx(
        min_bytes_sent(item) / 10.0
    )


def test_groups_along_an_axis_cross_the_links_of_that_axis():
    along, across = ((0, 1), (2, 3)), ((0, 2), (1, 3))
    fast, slow = (
        estimate_collective(collective("all-reduce", 2, 800, 800, groups), ALL, 4) for groups in (along, across)
    )
    assert fast == pytest.approx(2.8) and slow == pytest.approx(28.0)


def test_levels_are_counted():
    assert ALL.count_levels(range(16)) == LevelSizes(2, 2, 4)
    assert ALL.count_levels([0, 3, 8]) == LevelSizes(1, 2, 2)
    assert ALL.count_sharing(16) == 1.0
    assert [Topology(1, 4, cores=2).count_sharing(count) for count in (1, 2, 4, 8)] == [1.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "topology, item, message",
    [
        (Topology(2, 2, WITHIN), collective("all-reduce", 4, 8, 8), "between the processes of a host are is not known"),
        (Topology(2, 1, WITHIN), collective("all-reduce", 4, 8, 8), "between hosts are is not known"),
        (Topology(4), collective("collective-permute", 4, 8, 8), "between the devices of a process"),
        (ALL, Collective("all-reduce", 2, 8, 8), "between which devices a collective is could not be read"),
    ],
)
def test_what_is_not_known_is_said(topology, item, message):
    with pytest.raises(UnknownLinkError, match=message):
        estimate_collective(item, topology, 4)


@pytest.mark.parametrize("name", ["devices_per_process", "processes_per_host"])
def test_numbers_that_make_no_sense_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is a number of at least 1"):
        Topology(**{name: 0})
