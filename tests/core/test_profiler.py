"""`xlascope.profiler`: what it writes is read back, as the tools do that read it."""

import gzip
import json
import socket
import warnings
from pathlib import Path
from typing import Any

import pytest
from jaxlib import _profile_data

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import profiler
from xlascope.readers.profiles import read_profile
from xlascope.xla.profiling.profiler_windows import ProfilerInUseError, Window

pytestmark = pytest.mark.live


def written(folder: Path) -> Path:
    (file,) = folder.glob("plugins/profile/*/*.xplane.pb")
    return file


def events(file: Path) -> dict[str, dict[str, Any]]:
    data = _profile_data.ProfileData.from_file(str(file))
    return {e.name: dict(e.stats) for plane in data.planes for line in plane.lines for e in line.events}


def run() -> None:
    x = jnp.ones((64, 64))
    xs.jit(lambda x: jnp.tanh(x @ x))(x).block_until_ready()


def test_a_trace_has_the_kernels_and_the_names(tmp_path: Path) -> None:
    with profiler.trace(tmp_path):
        with profiler.TraceAnnotation("loading", epoch=3):
            run()
        with profiler.StepTraceAnnotation("train", step_num=7):
            run()
    found = events(written(tmp_path))
    assert found["loading"] == {"epoch": 3}
    assert found["train"] == {"step_num": 7, "_r": 1}
    seen = read_profile(written(tmp_path).read_bytes())
    assert any(device.spans for each in seen for device in each.devices)


def test_functions_have_names_in_a_trace(tmp_path: Path) -> None:
    @profiler.annotate_function
    def plain(x: Any) -> Any:
        """Says what it does."""
        return x

    named = profiler.annotate_function(lambda x: x, name="by another name", kind=1)
    profiler.start_trace(str(tmp_path))
    try:
        assert plain(3) == named(3) == 3
        assert plain.__doc__ == "Says what it does."
    finally:
        profiler.stop_trace()
    found = events(written(tmp_path))
    assert any(name.endswith("plain") for name in found)
    assert found["by another name"] == {"kind": 1}


def test_perfetto_gets_a_file_of_its_own(tmp_path: Path) -> None:
    with profiler.trace(tmp_path, create_perfetto_trace=True):
        run()
    (file,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    assert json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    with pytest.raises(ValueError, match=r"ui\.perfetto\.dev"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_one_trace_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no trace is running"):
        profiler.stop_trace()
    with profiler.trace(tmp_path):
        with pytest.raises(ProfilerInUseError, match="running already"):
            profiler.start_trace(tmp_path)
        with pytest.raises(ProfilerInUseError), Window():
            pass
    with Window():
        pass


def test_a_failing_block_still_writes(tmp_path: Path) -> None:
    with pytest.raises(KeyError), profiler.trace(tmp_path):
        raise KeyError
    assert written(tmp_path).stat().st_size


def test_options_reach_the_profiler(tmp_path: Path) -> None:
    options = profiler.ProfileOptions()
    options.host_tracer_level = 0
    with profiler.trace(tmp_path, profiler_options=options), profiler.TraceAnnotation("unseen"):
        pass
    assert "unseen" not in events(written(tmp_path))


def test_a_memory_profile_is_a_compressed_pprof(tmp_path: Path) -> None:
    kept = jnp.ones((333, 333))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    content = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert varint(kept.nbytes) in content and b"buffer" in content
    assert gzip.decompress(profiler.device_memory_profile("cpu"))


def varint(value: int) -> bytes:
    """A number as protocol buffers write it."""
    digits = [value >> shift & 127 for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def test_the_server_listens_until_it_is_stopped() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ValueError, match="no profiler server"):
        profiler.stop_server()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        profiler.start_server(port)
    try:
        assert "every address" in str(said[0].message)
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        with pytest.raises(ValueError, match="running already"):
            profiler.start_server(port)
    finally:
        profiler.stop_server()
