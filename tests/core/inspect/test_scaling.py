"""`inspect.scaling`: one call for more and more devices that are not here."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, records
from xlascope.analysis.costs.exchange import min_bytes_sent
from xlascope.readers.hlo.collectives import find_collective
from xlascope.readers.hlo.text import read_module
from xlascope.records import Collective, Compiled, Scaled
from xlascope.sharding import PartitionSpec as P
from xlascope.xla.targets import find_target

needs_compilers = pytest.mark.usefixtures("target_compilers")
W = xs.ShapeDtypeStruct((64, 32), np.float32)
X = xs.ShapeDtypeStruct((16, 64), np.float32)


def step(w: Any, x: Any) -> Any:
    return w - 0.1 * xs.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)


def _points(found: Any) -> dict[str, Any]:
    return {point.target: point for point in found.records[-1].points}


def test_collectives_of_a_step_and_what_is_refused(tmp_path: Path) -> None:
    found = inspect.scaling(step, W, X, targets=["cpu:2", "cpu:3", "cpu:4"], specs=(P(), P("data")))
    points = _points(found)
    assert "cannot be split evenly over the 3 devices" in points["cpu:3"].error and "cpu:3 is refused: " in found.text
    for count in (2, 4):
        point = points[f"cpu:{count}"]
        assert (point.devices, point.mesh, point.error) == (count, f"data={count}", "")
        (each,) = point.exchanged
        assert (each.kind, each.runs, each.operand_bytes) == ("all-reduce", 1, 64 * 32 * 4)
        assert each.sent_bytes == 2 * (count - 1) / count * each.operand_bytes
        assert point.computing is None and "nobody estimates it" in point.computing_by
        assert point.communicating is None and point.step is None
    compiled = [each for each in found.records if isinstance(each, Compiled)]
    (collective,) = [each for each in compiled[0].kernels if each.collective is not None]
    assert collective.equations and collective.collective is not None and collective.collective.devices == 2
    found.save(tmp_path / "scaled.json")
    assert records.load(tmp_path / "scaled.json") == found.records
    found.save(tmp_path / "scaled.svg")
    assert "a step, at the least" in (tmp_path / "scaled.svg").read_text()


def test_what_grows_and_the_mesh_in_a_function() -> None:
    def mean(x: Any) -> Any:
        assert x.shape == (32, 64), "16 rows on each of two"
        return xs.shard_map(lambda part: xs.lax.pmean(part.mean(0), "data"), in_specs=P("data"), out_specs=P())(x)

    found = inspect.scaling(
        mean, X, targets=["cpu:4"], mesh={"data": None, "model": 2}, specs=P("data"), growing=("data",)
    )
    (point,) = _points(found).values()
    assert (point.mesh, [each.kind for each in point.exchanged]) == ("data=2, model=2", ["all-reduce"])


def test_links_between_processes_of_cpus() -> None:
    """Two processes of two devices on each host of two cores: the slower links take what the fast ones have left."""
    links = {"within": inspect.Link(1e9), "processes": inspect.Link(1e8, 1e-5, "measured"), "hosts": inspect.Link(1e7)}
    topology = inspect.Topology(2, 2, **links, flops=1e9, bytes_per_second=1e9, rates_source="measured", cores=4)
    found = inspect.scaling(step, W, X, targets=["cpu:2", "cpu:4", "cpu:8"], specs=(P(), P("data")), topology=topology)
    points = _points(found)
    size = 64 * 32 * 4
    inside, between = size / 1e9, 2e-5 + size / 2 / 1e8
    assert points["cpu:2"].communicating == pytest.approx(inside)
    assert points["cpu:4"].communicating == pytest.approx(inside + between)
    assert points["cpu:8"].communicating == pytest.approx(inside + between + size / 4 / 1e7)
    assert all(point.computing > 0 and point.step > point.communicating for point in points.values())
    assert "2 processes of a host: 100 MB/s, 10 µs latency (measured)" in points["cpu:4"].communicating_by
    assert "at the rates of its CPU (measured)" in points["cpu:4"].computing_by
    shared = inspect.Topology(2, 2, **links, flops=1e9, bytes_per_second=1e9, cores=2)
    found = inspect.scaling(step, W, X, targets=["cpu:4"], specs=(P(), P("data")), topology=shared)
    assert _points(found)["cpu:4"].communicating == pytest.approx(2 * (inside + between))
    assert "times 2: 4 devices share 2 cores" in found.text
    alone = inspect.Topology(2, 2, within=inspect.Link(1e9))
    found = inspect.scaling(step, W, X, targets=["cpu:4"], specs=(P(), P("data")), topology=alone)
    assert "between the processes of a host are is not known" in _points(found)["cpu:4"].communicating_by


def test_what_makes_no_sense_is_said() -> None:
    for more, words in (
        ({"mesh": {"data": None, "model": None}}, "one of them None"),
        ({"growing": ("rows",)}, "'rows', which is no axis of mesh"),
        ({"targets": []}, "names none"),
        ({"targets": ["cpu:3"], "mesh": {"data": 2}}, "its 3 devices do not make a mesh with data=2"),
    ):
        with pytest.raises(ValueError, match=words):
            inspect.scaling(step, W, X, **{"targets": ["cpu:2"], "specs": (P(), P("data")), **more})
    with pytest.raises(TypeError, match="specs holds PartitionSpecs"):
        inspect.scaling(step, W, X, targets=["cpu:2"], specs=(P(), 3))


def test_targets_are_counted() -> None:
    counts = {"tpu:v5e:8x8": 64, "tpu:v5p:2x2x4": 16, "tpu:v4:2x2x1": 8, "gpu:h100": 1, "gpu:h100:8": 8, "cpu:4": 4}
    assert {name: find_target(name).devices for name in counts} == counts
    for wrong in ("gpu:h100:0", "gpu:h100:x", "tpu:v5e:2x2:2", "cpu:0"):
        with pytest.raises(ValueError, match="there is no target"):
            find_target(wrong)


_GROUPS: dict[str, tuple[int, Any]] = {
    "replica_groups={{0,2},{1,3}}": (2, ((0, 2), (1, 3))),
    "replica_groups=[2,4]<=[8]": (4, ((0, 1, 2, 3), (4, 5, 6, 7))),
    "replica_groups=[4,2]<=[2,4]T(1,0)": (2, ((0, 4), (1, 5), (2, 6), (3, 7))),
    "replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_1'}": (4, ((0, 1, 2, 3), (4, 5, 6, 7))),
    "replica_groups=mesh['axis_0'=2,'axis_1'=2] {'axis_0'}": (2, ((0, 2), (1, 3))),
    "replica_groups=mesh['a'=2,'b'=8], device_ids=([16]) {'a','b':(2)4}": (8, ()),
    "replica_groups=[2,128]<=[256]": (128, ()),
    "source_target_pairs={{0,1},{1,0}}": (2, ((0, 1),)),
    "replica_groups={}": (0, ()),
}


@pytest.mark.parametrize("groups", _GROUPS)
def test_how_xla_writes_groups(groups: str) -> None:
    entry = read_module(
        "HloModule m\nENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n"
        f"  ROOT %y = f32[8]{{0}} all-reduce(%x), channel_id=1, {groups}, to_apply=%add\n}}"
    ).entry
    found = find_collective((entry, each) for each in entry.instructions.values())
    assert found == Collective("all-reduce", _GROUPS[groups][0], 32, 32, _GROUPS[groups][1])


def test_the_least_that_is_sent() -> None:
    kinds = {"all-reduce": 150, "all-gather": 75, "reduce-scatter": 75, "all-to-all": 75, "collective-permute": 100}
    assert {kind: min_bytes_sent(Collective(kind, 4, 100, 100)) for kind in kinds} == kinds


@needs_compilers
@pytest.mark.slow
def test_chips_that_are_not_here() -> None:
    found = inspect.scaling(
        step,
        W,
        X,
        targets=["tpu:v5e:2x2", "tpu:v5e:4x4", "tpu:v5e:1x3", "gpu:h100:2", "gpu:h100:16"],
        specs=(P(), P("data")),
    )
    points = _points(found)
    assert "not divisible" in points["tpu:v5e:1x3"].error or "cannot be split" in points["tpu:v5e:1x3"].error
    for name in ("tpu:v5e:2x2", "tpu:v5e:4x4", "gpu:h100:2"):
        assert points[name].step is not None and 0 < points[name].step < 1e-3
        assert points[name].exchanged[0].operand_bytes == 64 * 32 * 4
    across = points["gpu:h100:16"]
    assert across.communicating > 10 * points["gpu:h100:2"].communicating
    assert "2 hosts: 50 GB/s, 14 µs latency (NVIDIA, DGX BasePOD" in across.communicating_by
    assert isinstance(found.records[-1], Scaled)
