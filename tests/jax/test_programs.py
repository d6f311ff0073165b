"""Programs of jax and its libraries, each alone and watched: the same programs and numbers, and nearly all is known."""

from pathlib import Path

import pytest

from .libraries import need_libraries
from .running import PROGRAMS, Ran, run

#: Of the kernels' time, what is at least to have an equation, or to copy what one made; and of the equations, a line.
KNOWN, PLACED = 0.95, 0.95
#: What is at least to have an equation itself. XLA copies what loops carry: where numbers are few that is a large part.
WITH_EQUATION = 0.9
MANY_COPIES = {"diffrax_solve": 0.8, "donated": 0.8, "numpyro_nuts": 0.6}

#: Beside other tests a copy takes longer than what it is beside, now and then: a share that is too small is looked at
#: again so often.
MEASURED_AGAIN = 2

#: Rules and bodies of all kinds, several devices, callbacks; the others are slow.
OF_JAX = ["custom_rules", "printing", "shard_map_eight"]
MORE_OF_JAX = ["donated", "pmap_step", "remat_blocks", "retracing", "scan_lstm", "vmap_jacfwd"]
OF_LIBRARIES = ["diffrax_solve", "equinox_mlp", "flax_linen_transformer", "flax_nnx_transformer", "numpyro_nuts"]


@pytest.mark.parametrize("program", [*OF_JAX, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE_OF_JAX)])
def test_program_of_jax(program: str, tmp_path: Path) -> None:
    check(program, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("program", OF_LIBRARIES)
def test_program_of_a_library(program: str, tmp_path: Path) -> None:
    need_libraries()
    check(program, tmp_path)


@pytest.mark.slow
def test_program_with_a_cache_on_disk(tmp_path: Path) -> None:
    """Watched it finds what was compiled unwatched, and adds nothing; and what it adds itself is found as well."""
    path, kept = PROGRAMS / "persistent_cache.py", tmp_path / "kept"
    alone, files = run(path, "alone", tmp_path, str(kept)), entries(kept)
    watched = run(path, "watched", tmp_path, str(kept))
    assert watched.printed == alone.printed and watched.report["numbers"] == alone.report["numbers"]
    assert entries(kept) == files and len(files) == len(alone.compiled) and not watched.compiled
    assert watched.report["time"] == 0 and watched.report["failures"] == []
    kept.rename(tmp_path / "away")  # the folder's name is in the key
    run(path, "watched", tmp_path, str(kept))
    assert entries(kept) == files


def entries(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if each.name.endswith("-cache"))


def test_every_program_is_run() -> None:
    assert sorted([*OF_JAX, *MORE_OF_JAX, *OF_LIBRARIES, "persistent_cache"]) == sorted(
        each.stem for each in PROGRAMS.glob("*.py")
    )


def check(program: str, folder: Path) -> None:
    path = PROGRAMS / f"{program}.py"
    alone, watched = run(path, "alone", folder), run(path, "watched", folder)
    expect_the_same(alone, watched)
    for _ in range(MEASURED_AGAIN):
        if not is_known(program, watched):
            watched = run(path, "watched", folder)
    expect_to_be_known(program, watched)


def is_known(program: str, watched: Ran) -> bool:
    """Whether nearly all of the kernels' time is."""
    time, copies = watched.report["time"], watched.report["copies"]
    return time + copies >= KNOWN and time >= MANY_COPIES.get(program, WITH_EQUATION)


def expect_the_same(alone: Ran, watched: Ran) -> None:
    """What was printed, compiled and computed, to the last byte."""
    assert alone.compiled and alone.printed
    assert [name for name, _ in watched.compiled] == [name for name, _ in alone.compiled]
    assert watched.compiled == alone.compiled
    assert watched.report["numbers"] == alone.report["numbers"]
    assert watched.printed == alone.printed


def expect_to_be_known(program: str, watched: Ran) -> None:
    report = watched.report
    assert report["failures"] == []
    assert report["records"]["Traced"] >= 1 and report["records"]["Compiled"] == len(watched.compiled)
    assert report["time"] + report["copies"] >= KNOWN, report["without equation"]
    assert report["time"] >= MANY_COPIES.get(program, WITH_EQUATION), report["without equation"]
    assert report["lines"] >= PLACED, report["without line"]
    assert report["own lines"] >= PLACED
