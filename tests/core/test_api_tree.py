"""Pytrees: the spellings of tree and tree_util, and containers that users register."""

import collections
import dataclasses
import pickle

import numpy as np
import pytest

import xlascope as xs
from xlascope import tree, tree_util


def test_both_spellings_are_one_function():
    for name in ("all", "broadcast", "flatten", "leaves", "map", "map_with_path", "reduce", "structure", "transpose"):
        assert getattr(tree, name) is getattr(tree_util, f"tree_{name}")


def test_flatten_and_back():
    whole = {"b": (1, [2, None]), "a": collections.OrderedDict(z=3, y=4), "c": collections.namedtuple("P", "x")(5)}
    leaves, structure = tree.flatten(whole)
    assert leaves == [3, 4, 1, 2, 5]
    assert tree.unflatten(structure, leaves) == whole
    assert tree.structure(whole) == structure and tree_util.treedef_is_leaf(tree.structure(1))
    assert [tree.keystr(path) for path, _ in tree.leaves_with_path(whole)] == [
        "['a']['z']",
        "['a']['y']",
        "['b'][0]",
        "['b'][1][0]",
        "['c'].x",
    ]


def test_map_reduce_transpose():
    assert tree.map(lambda x, y: (x, y), [1, 2], [3, {"a": 4}]) == [(1, 3), (2, {"a": 4})]
    assert tree.map(lambda x: x is None, [None, 1], is_leaf=lambda x: x is None) == [True, False]
    assert tree.reduce(lambda x, y: x + y, [1, [2, 3]], 10) == 16
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0, "b": 0})
    assert tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]) == {"a": [1, 3], "b": [2, 4]}
    assert tree.all([True, {"a": 1}]) and not tree.all([1, 0])
    assert tree.map_with_path(lambda path, x: tree.keystr(path, simple=True, separator="."), {"a": [1]}) == {
        "a": ["a.0"]
    }
    assert tree_util.treedef_children(tree.structure((1, [2]))) == [tree.structure(1), tree.structure([2])]
    assert tree_util.treedef_tuple([tree.structure(1), tree.structure([2])]) == tree.structure((1, [2]))
    assert tree_util.all_leaves([1, 2]) and not tree_util.all_leaves([1, [2]])


def test_trees_that_do_not_fit():
    with pytest.raises(ValueError):
        tree.map(lambda x, y: x, [1, 2], [1, 2, 3])
    with pytest.raises(ValueError):
        tree.unflatten(tree.structure([1, 2]), [1])


@tree_util.register_pytree_node_class
class Pair:
    def __init__(self, first, second, name):
        self.first, self.second, self.name = first, second, name

    def tree_flatten(self):
        return (self.first, self.second), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    name: str = dataclasses.field(default="dense", metadata={"static": True})


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Constant:
    value: int


def test_registered_classes_pass_through_transformations():
    def f(pair, layer, constant):
        return pair.first * pair.second + layer.weight * constant.value

    arguments = (Pair(2.0, 3.0, "p"), Layer(np.float32(4.0)), Constant(5))
    assert float(xs.jit(f)(*arguments)) == 26.0
    slope = xs.grad(f)(*arguments)
    assert isinstance(slope, Pair) and slope.name == "p" and (float(slope.first), float(slope.second)) == (3.0, 2.0)
    assert float(xs.grad(f, argnums=1)(*arguments).weight) == 5.0
    assert tree.keystr(tree.leaves_with_path(arguments[1])[0][0]) == ".weight"
    with pytest.raises(ValueError, match="data_fields"):
        tree_util.register_dataclass(dataclasses.make_dataclass("L", ["a", "b"]), ["a"], [])


def test_partial_is_a_tree_whose_function_may_cross_jit():
    partial = tree_util.Partial(lambda x, y: x * y, 3.0)
    assert tree.leaves(partial) == [3.0]
    assert float(xs.jit(lambda f, x: f(x))(partial, 2.0)) == 6.0


def test_structures_survive_pickling():
    structure = tree.structure({"a": [1, (2, None)]})
    assert pickle.loads(pickle.dumps(structure)) == structure
