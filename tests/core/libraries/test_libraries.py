"""Other libraries with arrays of this engine: each row is skipped where its library is not installed.

The libraries of the slow rows are the extra `libraries`. Where XLASCOPE_REQUIRE_LIBRARIES is set they have to be there.
"""

import copy
import importlib
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.numpy import indexing

X = np.arange(6, dtype=np.float32).reshape(2, 3)
#: What the extra `libraries` has, or the extra `test`. Others are tried where they happen to be installed.
BROUGHT = {
    *("array_api_compat", "beartype", "cloudpickle", "einops", "h5py", "jaxtyping", "joblib", "opt_einsum", "pandas"),
    *("safetensors.numpy", "seaborn", "tqdm", "treescope", "xarray"),
}


def need(*names: str) -> list[Any]:
    """Import libraries; skip the test where one is not installed."""
    if os.environ.get("XLASCOPE_REQUIRE_LIBRARIES") and BROUGHT.issuperset(names):
        return [importlib.import_module(name) for name in names]
    return [pytest.importorskip(name, exc_type=ImportError) for name in names]


def transformed(f: Callable[[Any], Any]) -> list[Any]:
    """The results of a function of a matrix: eagerly, under jit and under vmap; and its gradient exists."""
    x = jnp.asarray(X)
    gradient = xs.grad(lambda x: jnp.sum(f(x)))(x)
    assert gradient.shape == x.shape
    mapped = xs.vmap(f)(jnp.stack([x, x]))[1]
    return [np.asarray(y) for y in (f(x), xs.jit(f)(x), mapped)]


EINOPS = {
    "rearrange": (lambda e, x: e.rearrange(x, "a (b c) -> c (b a)", c=3), X.T),
    "reduce": (lambda e, x: e.reduce(x, "(a b) c -> a c", "mean", b=2), X.mean(0)[None]),
    "reduce, max": (lambda e, x: e.reduce(x, "a b -> b", "max"), X.max(0)),
    "repeat": (lambda e, x: e.repeat(x, "a b -> a (b c)", c=2), X.repeat(2, 1)),
    "of a list": (lambda e, x: e.rearrange([x, x], "i a b -> a b i"), np.stack([X, X], 2)),
    "einsum": (lambda e, x: e.einsum(x, x, "i k, j k -> i j"), X @ X.T),
    "pack": (lambda e, x: e.pack([x, x[:, 0]], "a *")[0], np.c_[X, X[:, 0]]),
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name: str) -> None:
    (einops,) = need("einops")
    f, expected = EINOPS[name]
    for found in transformed(lambda x: f(einops, x)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_einops_of_keys() -> None:
    (einops,) = need("einops")
    assert einops.rearrange(xs.random.split(xs.random.key(0), 4), "(a b) -> a b", a=2).shape == (2, 2)


@pytest.mark.parametrize("expression", ["ij,kj->ik", "ij,kj,kl->il", "ij->j"])
def test_opt_einsum(expression: str) -> None:
    (opt_einsum,) = need("opt_einsum")
    operands = expression.partition("->")[0].count(",") + 1
    expected = np.einsum(expression, *[X] * operands)
    for found in transformed(lambda x: opt_einsum.contract(expression, *[x] * operands)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@xs.jit
def twice(x: Any) -> Any:
    return x * 2


def test_pickle_and_copy() -> None:
    for x in (jnp.asarray(X), xs.random.key(3), jnp.asarray(X).astype("bfloat16")):
        for found in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
            assert found.dtype == x.dtype and bool((found == x).all())
    assert pickle.loads(pickle.dumps(twice)) is twice, "a jitted function of a module is found by its name"
    assert pickle.loads(pickle.dumps(xs.nn.relu)) is xs.nn.relu


def test_cloudpickle() -> None:
    (cloudpickle,) = need("cloudpickle")
    weights = jnp.ones(3)

    @xs.jit
    def inner(x: Any) -> Any:
        return x @ weights

    inner(jnp.asarray(X))  # what it has compiled stays here
    for f in (
        inner,
        xs.jit(xs.grad(lambda x: jnp.sum(inner(x) ** 2))),
        xs.vmap(inner),
        lambda x: inner(x) + weights[0],
    ):
        again = pickle.loads(cloudpickle.dumps(f))
        np.testing.assert_array_equal(again(jnp.asarray(X)), f(jnp.asarray(X)))
    static = xs.jit(lambda x, n: x * n, static_argnums=1)
    again = pickle.loads(cloudpickle.dumps(static))
    assert float(again(2.0, 3)) == 6.0 and "multiply" in again.lower(2.0, 3).as_text()


@pytest.mark.slow
def test_array_api_compat() -> None:
    (compat,) = need("array_api_compat")
    for found in transformed(lambda x: compat.array_namespace(x).matmul(x, x.T)):
        np.testing.assert_allclose(found, X @ X.T)
    x = jnp.asarray(X)
    assert compat.is_array_api_obj(x) and compat.size(x) == 6 and compat.to_device(x, compat.device(x)).shape == (2, 3)


@pytest.mark.slow
def test_jaxtyping_with_beartype() -> None:
    jaxtyping, beartype = need("jaxtyping", "beartype")
    kind = jaxtyping.Float[xs.Array, "n m"], jaxtyping.Float[xs.Array, "m"], jaxtyping.Float[xs.Array, "n"]

    def product(a: Any, b: Any) -> Any:
        return a @ b

    product.__annotations__ = {"a": kind[0], "b": kind[1], "return": kind[2]}
    checked = jaxtyping.jaxtyped(typechecker=beartype.beartype)(product)
    for found in transformed(lambda x: checked(x, x[0])):
        np.testing.assert_allclose(found, X @ X[0])
    with pytest.raises(jaxtyping.TypeCheckError):
        xs.jit(checked)(X, jnp.ones(4))
    assert not isinstance(jnp.asarray(X), jaxtyping.Int[xs.Array, "..."])


@pytest.mark.slow
def test_pandas() -> None:
    (pandas,) = need("pandas")
    x = jnp.asarray(X)
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    assert frame["b"].tolist() == [1.0, 4.0] and frame.dtypes["a"] == np.float32
    assert (pandas.Series(x[0]) + x[1]).tolist() == [3.0, 5.0, 7.0]
    assert frame.assign(d=x[:, 0])["d"].tolist() == [0.0, 3.0] and frame.iloc[jnp.array([1])].shape == (1, 3)
    assert jnp.asarray(frame["c"]).tolist() == [2.0, 5.0] and jnp.sum(frame.to_numpy()) == 15


@pytest.mark.slow
def test_xarray() -> None:
    (xarray,) = need("xarray")
    array = xarray.DataArray(jnp.asarray(X), dims=("a", "b"))
    assert all(isinstance(each.data, xs.Array) for each in (array, array + 1, array.mean("a"), array.isel(b=1)))
    np.testing.assert_allclose(array.mean("a"), X.mean(0))
    np.testing.assert_allclose(array.where(array > 2, 0), np.where(X > 2, X, 0))
    assert xarray.apply_ufunc(jnp.sin, array).dims == ("a", "b")


@pytest.mark.slow
def test_h5py(tmp_path: Path) -> None:
    (h5py,) = need("h5py")
    x = jnp.asarray(X)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = x
        file.create_dataset("y", data=x)
        file.attrs["number"] = x[1, 2]
    with h5py.File(tmp_path / "a.h5") as file:
        assert file.attrs["number"] == 5.0
        for name in ("x", "y"):
            np.testing.assert_array_equal(jnp.asarray(file[name][...]), X)


@pytest.mark.slow
def test_safetensors() -> None:
    (safetensors,) = need("safetensors.numpy")
    tree = {"x": jnp.asarray(X), "n": jnp.arange(3)}
    again = safetensors.load(safetensors.save(xs.tree.map(np.asarray, tree)))
    assert xs.tree.all(xs.tree.map(lambda a, b: bool((jnp.asarray(a) == b).all()), again, tree))


@pytest.mark.slow
def test_joblib(tmp_path: Path) -> None:
    (joblib,) = need("joblib")
    x = jnp.asarray(X)
    joblib.dump({"w": x}, tmp_path / "model")
    again = joblib.load(tmp_path / "model")["w"]
    assert isinstance(again, xs.Array) and joblib.hash(again) == joblib.hash(x) != joblib.hash(x + 1)
    threads = joblib.Parallel(2, prefer="threads")
    assert [float(y) for y in threads(joblib.delayed(twice)(x[i, 2]) for i in range(2))] == [4.0, 10.0]


@pytest.mark.slow
def test_treescope() -> None:
    (treescope,) = need("treescope")
    text = treescope.render_to_text({"weights": jnp.asarray(X), "key": xs.random.key(0)})
    assert "weights" in text and "float32(2, 3)" in text
    assert "<" in treescope.render_to_html({"weights": jnp.asarray(X)})


@pytest.mark.slow
def test_tqdm() -> None:
    (tqdm,) = need("tqdm")
    bar = tqdm.tqdm(jnp.asarray(X), file=io.StringIO())
    assert sum(float(row.sum()) for row in bar) == 15 and bar.total == 2


def test_sklearn() -> None:
    linear, preprocessing = need("sklearn.linear_model", "sklearn.preprocessing")
    x = jnp.asarray(X)
    found = linear.Ridge(alpha=1e-2).fit(x, x[:, 0]).predict(x)
    np.testing.assert_allclose(found, X[:, 0], atol=1e-2)
    np.testing.assert_allclose(preprocessing.StandardScaler().fit_transform(x), [[-1.0] * 3, [1.0] * 3])


def test_matplotlib() -> None:
    (figures,) = need("matplotlib.figure")
    x = jnp.asarray(X)
    figure = figures.Figure(figsize=(2, 2))
    for axes, draw in zip(
        figure.subplots(2, 3).flat,
        [
            lambda axes: axes.plot(x[0], x[1]),
            lambda axes: axes.imshow(x),
            lambda axes: axes.hist(x[0]),
            lambda axes: axes.scatter(x[0], x[1], c=x[0]),
            lambda axes: axes.fill_between(x[0], x[0], x[1]),
            lambda axes: axes.bar(["a", "b", "c"], x[0]),
        ],
        strict=True,
    ):
        draw(axes)
    figure.savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes, x: axes.plot(x, x),
        lambda axes, x: axes.hist(x, bins=30),
        lambda axes, x: axes.hist2d(x, x),
        lambda axes, x: axes.scatter(x, x, c=x),
        lambda axes, x: axes.fill_between(x, x, x),
        lambda axes, x: axes.errorbar(x, x, yerr=x),
        lambda axes, x: axes.boxplot(x),
        lambda axes, x: axes.step(x, x),
    ],
)
def test_matplotlib_reads_an_array_at_once(draw: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (figures,) = need("matplotlib.figure")
    rows: list[int] = []
    getitem = indexing.getitem
    monkeypatch.setattr(indexing, "getitem", lambda x, i: (rows.append(i), getitem(x, i))[1])
    draw(figures.Figure().subplots(), jnp.linspace(0.0, 1.0, 100))
    assert len(rows) < 10


def test_plotly() -> None:
    (plotly,) = need("plotly.graph_objects")
    x = jnp.asarray(X)
    assert plotly.Figure(plotly.Scatter(x=x[0], y=x[1])).to_dict()["data"][0]["y"].tolist() == [3.0, 4.0, 5.0]


def test_torch_by_dlpack() -> None:
    (torch,) = need("torch")
    x = jnp.asarray(X)
    there = torch.from_dlpack(x)
    assert there.shape == (2, 3) and float(there.sum()) == 15
    np.testing.assert_array_equal(jnp.from_dlpack(there * 2), X * 2)


def test_cupy_by_dlpack() -> None:
    """On a GPU alone; torch above has the same protocol on a CPU."""
    (cupy,) = need("cupy")
    if not any(device.platform == "gpu" for device in xs.devices()):
        pytest.skip("needs a GPU")
    x = jnp.asarray(X)
    there = cupy.from_dlpack(x)
    assert there.shape == (2, 3) and float(there.sum()) == 15
    np.testing.assert_array_equal(jnp.from_dlpack(there * 2), X * 2)


def test_dlpack_of_numpy() -> None:
    """What any consumer of the protocol does: no copy, and read-only."""
    x = jnp.asarray(X)
    there = np.from_dlpack(x)
    assert np.shares_memory(there, np.asarray(x)) and not there.flags.writeable
    np.testing.assert_array_equal(jnp.from_dlpack(X.copy()), X)


@pytest.mark.slow
def test_seaborn() -> None:
    (seaborn,) = need("seaborn")
    pyplot = importlib.import_module("matplotlib.pyplot")
    x = jnp.asarray(X)
    figure, axes = pyplot.subplots(ncols=4)
    seaborn.lineplot(x=x[0], y=x[1], ax=axes[0])
    seaborn.heatmap(x, ax=axes[1], annot=True)
    seaborn.histplot(x[1], ax=axes[2], bins=3)
    seaborn.scatterplot({"a": x[0], "b": x[1]}, x="a", y="b", ax=axes[3])
    np.testing.assert_array_equal(axes[0].lines[0].get_xydata(), X.T)
    assert sorted(float(text.get_text()) for text in axes[1].texts) == [0, 1, 2, 3, 4, 5]
    assert sum(bar.get_height() for bar in axes[2].patches) == 3
    pyplot.close(figure)


MULTIPROCESSING = """
import multiprocessing, sys
import numpy as np
import xlascope as xs, xlascope.numpy as jnp

@xs.jit
def gram(x):
    return x @ x.T

if __name__ == "__main__":
    x = jnp.arange(6.0).reshape(2, 3)
    gram(x)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        for y in pool.map(gram, [x, x + 1, 2 * x]):
            assert isinstance(y, xs.Array)
            print(float(y.sum()))
        print(*pool.map(jnp.sum, [x, x + 1]))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    """Arrays and jitted functions of a module go to processes and come back; a fork after first use cannot."""
    (tmp_path / "main.py").write_text(MULTIPROCESSING)
    words = [sys.executable, str(tmp_path / "main.py"), method]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["83.0", "155.0", "332.0", "15.0", "21.0"]
