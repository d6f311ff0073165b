"""shard_map outside of jit: the function runs at each call, and is compiled where its program has changed."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import records
from xlascope.sharding import Mesh, PartitionSpec

X = np.ones(3, np.float32)


def compilations(call):
    seen = []
    with records.watch(seen.append):
        result = call()
    return sum(isinstance(each, records.Compiled) for each in seen), result


def test_shard_map_outside_of_jit_compiles_what_has_changed():
    factor = [2.0]
    added = np.ones(3, np.float32)

    def function(x):
        return jnp.tanh(x) * factor[0] + added

    mesh = Mesh(np.array(xs.devices()[:1]), ("i",))
    for new_factor, new_added, count in [(2.0, 1.0, 1), (2.0, 1.0, 0), (2.0, 5.0, 0), (3.0, 5.0, 1), (2.0, 5.0, 0)]:
        factor[0], added = new_factor, np.full(3, new_added, np.float32)
        mapped = xs.shard_map(function, mesh=mesh, in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"))
        compiled, result = compilations(lambda mapped=mapped: mapped(X))
        np.testing.assert_allclose(result, np.tanh(X) * new_factor + new_added, rtol=1e-6)
        assert compiled == count


def test_specs_for_another_number_of_arguments_are_told_with_the_line():
    mesh, spec = Mesh(np.array(xs.devices()[:1]), ("i",)), PartitionSpec("i")
    mapped = xs.shard_map(lambda x, y: x + y, mesh=mesh, in_specs=(spec,), out_specs=spec)
    with pytest.raises(
        ValueError, match=r"in_specs has 1 entries, but there are 2 arguments at .*test_eager_shard_map"
    ):
        mapped(X, X)
