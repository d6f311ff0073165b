"""Records of a training step as the engine makes them, written by hand: what the widget tests draw.

A two-layer perceptron with softmax cross-entropy, its gradient, and a step of gradient descent; ``log_softmax`` and
``one_hot`` are nested programs; it ran on two devices.
"""

from __future__ import annotations

from xlascope.records import (
    Compiled,
    DeviceTime,
    Equation,
    Executed,
    Jaxpr,
    Kernel,
    KernelTime,
    Lowered,
    MemoryUse,
    Record,
    SourceRange,
    SourceText,
    Span,
    Started,
    Traced,
    Variable,
)

FILE = "/tmp/ipykernel_7/12345.py"

SOURCE = """\
@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(W - 0.1 * dW, b - 0.1 * db)
            for (W, b), (dW, db) in zip(params, grads)]

def predict(params, x):
    (W1, b1), (W2, b2) = params
    h = x @ W1 + b1
    h = tanh(h)
    return h @ W2 + b2

def loss(params, x, y):
    lp = log_softmax(predict(params, x))
    return -mean(lp * one_hot(y, 10))
"""


class Level:
    """Builds one jaxpr; ``names`` is shared by all levels so that variables are unique in the whole program."""

    def __init__(self, name: str, prefix: str = "", names: list[int] | None = None) -> None:
        self.name, self.prefix = name, prefix
        self.names = [0] if names is None else names
        self.inputs: list[str] = []
        self.variables: dict[str, Variable] = {}
        self.equations: list[Equation] = []

    def variable(self, shape: tuple[int, ...], dtype: str = "float32", label: str = "") -> str:
        number, name = self.names[0], ""
        self.names[0] += 1
        while True:
            name = chr(97 + number % 26) + name
            number = number // 26 - 1
            if number < 0:
                break
        self.variables[name] = Variable(name, shape, dtype, False, label)
        return name

    def input(self, shape: tuple[int, ...], label: str = "", dtype: str = "float32") -> str:
        self.inputs.append(self.variable(shape, dtype, label))
        return self.inputs[-1]

    @property
    def next_path(self) -> str:
        return f"{self.prefix}{len(self.equations)}"

    def eqn(
        self,
        operation: str,
        inputs: tuple[str, ...],
        shape: tuple[int, ...],
        line: int | None,
        role: str = "forward",
        of: str | None = None,
        parameters: str = "",
        dtype: str = "float32",
        flops: int = 0,
        bodies: tuple[Jaxpr, ...] = (),
    ) -> str:
        out = self.variable(shape, dtype)
        source = None if line is None else SourceRange(FILE, line, 4, line, 20, "predict")
        self.equations.append(
            Equation(self.next_path, operation, parameters, inputs, (out,), role, source, of, flops, bodies)  # type: ignore[arg-type]
        )
        return out

    def close(self, *outputs: str) -> Jaxpr:
        return Jaxpr(self.name, (), tuple(self.inputs), outputs, self.variables, tuple(self.equations))


def _log_softmax(prefix: str, names: list[int]) -> Jaxpr:
    f = Level("log_softmax", prefix, names)
    x = f.input((128, 10))
    top = f.eqn("reduce_max", (x,), (128,), 14, parameters="axes=(1,)", flops=1280)
    top = f.eqn("broadcast_in_dim", (top,), (128, 10), 14, parameters="shape=(128, 10)")
    shifted = f.eqn("sub", (x, top), (128, 10), 14, flops=1280)
    power = f.eqn("exp", (shifted,), (128, 10), 14, flops=1280)
    total = f.eqn("reduce_sum", (power,), (128,), 14, parameters="axes=(1,)", flops=1280)
    log = f.eqn("log", (total,), (128,), 14, flops=128)
    log = f.eqn("broadcast_in_dim", (log,), (128, 10), 14, parameters="shape=(128, 10)")
    return f.close(f.eqn("sub", (shifted, log), (128, 10), 14, flops=1280))


def _log_softmax_transposed(prefix: str, names: list[int], of: str) -> Jaxpr:
    f = Level("log_softmax", prefix, names)
    lp, ct = f.input((128, 10)), f.input((128, 10))
    total = f.eqn("reduce_sum", (ct,), (128,), 14, "backward", f"{of}/6", "axes=(1,)", flops=1280)
    power = f.eqn("exp", (lp,), (128, 10), 14, "backward", f"{of}/3", flops=1280)
    total = f.eqn("broadcast_in_dim", (total,), (128, 10), 14, "backward", f"{of}/4", "shape=(128, 10)")
    scaled = f.eqn("mul", (power, total), (128, 10), 14, "backward", f"{of}/3", flops=1280)
    return f.close(f.eqn("sub", (ct, scaled), (128, 10), 14, "backward", f"{of}/2", flops=1280))


def _one_hot(prefix: str, names: list[int]) -> Jaxpr:
    f = Level("one_hot", prefix, names)
    y = f.input((128,), dtype="int32")
    y = f.eqn("broadcast_in_dim", (y,), (128, 10), 15, parameters="shape=(128, 10)", dtype="int32")
    classes = f.eqn("iota", (), (128, 10), 15, parameters="dimension=1", dtype="int32")
    same = f.eqn("eq", (y, classes), (128, 10), 15, dtype="bool", flops=1280)
    return f.close(f.eqn("convert_element_type", (same,), (128, 10), 15, parameters="new_dtype=float32"))


def training_jaxpr() -> Jaxpr:
    """Forward, backward, and the update of four parameters."""
    f = Level("update")
    w1, b1 = f.input((64, 512), "params[0][0]"), f.input((512,), "params[0][1]")
    w2, b2 = f.input((512, 10), "params[1][0]"), f.input((10,), "params[1][1]")
    x, y = f.input((128, 64), "x"), f.input((128,), "y", "int32")
    h = f.eqn("dot_general", (x, w1), (128, 512), 9, flops=8_388_608, parameters="contract=1,0")  # 0
    wide = f.eqn("broadcast_in_dim", (b1,), (128, 512), 9, parameters="shape=(128, 512)")  # 1
    h = f.eqn("add", (h, wide), (128, 512), 9, flops=65_536)  # 2
    t = f.eqn("tanh", (h,), (128, 512), 10, flops=65_536)  # 3
    square = f.eqn("mul", (t, t), (128, 512), 10, "tangent", "3", flops=65_536)  # 4
    slope = f.eqn("sub", ("1.0:f32[]", square), (128, 512), 10, "tangent", "3", flops=65_536)  # 5
    o = f.eqn("dot_general", (t, w2), (128, 10), 11, flops=1_310_720)  # 6
    wide = f.eqn("broadcast_in_dim", (b2,), (128, 10), 11, parameters="shape=(128, 10)")  # 7
    o = f.eqn("add", (o, wide), (128, 10), 11, flops=1280)  # 8
    body = _log_softmax(f.next_path + "/", f.names)
    lp = f.eqn("jit", (o,), (128, 10), 14, parameters="name=log_softmax", bodies=(body,))  # 9
    body = _one_hot(f.next_path + "/", f.names)
    hot = f.eqn("jit", (y,), (128, 10), 15, parameters="name=one_hot", bodies=(body,))  # 10
    score = f.eqn("mul", (lp, hot), (128, 10), 15, flops=1280)  # 11
    total = f.eqn("reduce_sum", (score,), (), 15, parameters="axes=(0, 1)", flops=1280)  # 12
    mean = f.eqn("div", (total, "128.0:f32[]"), (), 15, flops=1)  # 13
    f.eqn("neg", (mean,), (), 15, flops=1)  # 14
    ct = f.eqn("neg", ("1.0:f32[]",), (), 15, "backward", "14", flops=1)  # 15
    ct = f.eqn("div", (ct, "128.0:f32[]"), (), 15, "backward", "13", flops=1)  # 16
    ct = f.eqn("broadcast_in_dim", (ct,), (128, 10), 15, "backward", "12", parameters="shape=(128, 10)")  # 17
    ct = f.eqn("mul", (ct, hot), (128, 10), 15, "backward", "11", flops=1280)  # 18
    body = _log_softmax_transposed(f.next_path + "/", f.names, "9")
    ct = f.eqn("jit", (lp, ct), (128, 10), 14, "backward", "9", parameters="name=log_softmax", bodies=(body,))  # 19
    db2 = f.eqn("reduce_sum", (ct,), (10,), 11, "backward", "7", "axes=(0,)", flops=1280)  # 20
    dw2 = f.eqn("dot_general", (t, ct), (512, 10), 11, "backward", "6", flops=1_310_720)  # 21
    dh = f.eqn("dot_general", (ct, w2), (128, 512), 11, "backward", "6", flops=1_310_720)  # 22
    dh = f.eqn("mul", (dh, slope), (128, 512), 10, "backward", "3", flops=65_536)  # 23
    db1 = f.eqn("reduce_sum", (dh,), (512,), 9, "backward", "1", "axes=(0,)", flops=65_536)  # 24
    dw1 = f.eqn("dot_general", (x, dh), (64, 512), 9, "backward", "0", flops=8_388_608)  # 25
    new = []
    for parameter, gradient in ((w1, dw1), (b1, db1), (w2, dw2), (b2, db2)):  # 26 ...
        shape = f.variables[parameter].shape
        step = f.eqn("mul", ("0.1:f32[]", gradient), shape, 4)
        new.append(f.eqn("sub", (parameter, step), shape, None if parameter == b2 else 4))
    return f.close(*new)


def _kernel(name: str, kind: str, paths: str, read: int, written: int, saved: int = 0, unknown: int = 0) -> Kernel:
    equations = tuple(paths.split())
    opcode = "fusion" if "fusion" in name else "dot" if "dot" in name else "copy"
    inside = len(equations) + unknown
    return Kernel(name, opcode, kind, "f32[128,512]", equations, inside, unknown, read, written, saved)


def kernels() -> tuple[Kernel, ...]:
    return (
        _kernel("dot.7", "library call", "0", 163_840, 262_144),
        _kernel("broadcast_add_tanh_fusion.3", "loop", "1 2 3", 264_192, 262_144, 524_288),
        _kernel("loop_fusion.4", "loop", "4 5 23", 524_288, 262_144, 524_288),
        _kernel("dot.9", "library call", "6", 282_624, 5_120),
        _kernel("reduce_fusion.1", "input", "7 8 9/0 9/1 9/2 9/3 9/4", 5_160, 5_632, 15_360),
        _kernel("loop_fusion.5", "loop", "9/5 9/6 9/7", 5_632, 5_120, 5_120),
        _kernel("loop_fusion.6", "loop", "10/0 10/1 10/2 10/3 11 12 13 14 15 16 17 18", 5_632, 5_120, 30_720, 1),
        _kernel("reduce_fusion.2", "input", "19/0 19/1 19/2 19/3 19/4 20", 10_240, 5_160, 20_480),
        _kernel("dot.12", "library call", "21", 267_264, 20_480),
        _kernel("dot.14", "library call", "22", 25_600, 262_144),
        _kernel("reduce_fusion.3", "input", "24", 262_144, 2_048),
        _kernel("dot.15", "library call", "25", 294_912, 131_072),
        _kernel("loop_fusion.8", "loop", "26 27", 262_144, 131_072, 262_144),
        _kernel("loop_fusion.9", "loop", "28 29 30 31", 45_056, 22_528, 45_056),
        _kernel("loop_fusion.10", "loop", "32 33", 80, 40, 80),
        _kernel("copy.1", "single", "", 40, 40, 0, 1),
    )


TIMES = [us * 1e-6 for us in (620, 110, 60, 90, 50, 12, 15, 18, 95, 140, 30, 430, 40, 12, 4, 9)]


def device(name: str, slower: float, calls: int) -> DeviceTime:
    spans, start = [], 0.0
    for kernel, seconds in zip(kernels(), TIMES, strict=True):
        spans.append(Span(kernel.name, start, seconds * slower))
        start += seconds * slower + 3e-6
    times = tuple(KernelTime(k.name, calls, s * slower * calls) for k, s in zip(kernels(), TIMES, strict=True))
    return DeviceTime(name, sum(t.seconds for t in times), times, tuple(spans))


def started(program: int = 1, stage: str = "compile", time: float = 1000.0) -> Started:
    return Started(program, "update", stage, time)  # type: ignore[arg-type]


def traced(program: int = 1, jaxpr: Jaxpr | None = None, function: str = "update") -> Traced:
    jaxpr = jaxpr or training_jaxpr()
    source = SourceText(FILE, "In[7]", 1, SOURCE)
    site = SourceRange("/tmp/ipykernel_7/999.py", 2, 4, 2, 40, "<module>")
    return Traced(program, function, 1000.0, 1.4e-3, jaxpr, "{ lambda ; ... }", "first call", site, (source,))


def compiled(program: int = 1, function: str = "update") -> Compiled:
    memory = MemoryUse(300_000, 154_000, 1_100_000, 1_554_000)
    made = (1000.01, 0.31, "miss", "cpu", ("cpu:0",), "jit_update", kernels(), "HloModule jit_update")
    return Compiled(program, function, *made, flops=21e6, bytes_accessed=3.4e6, memory=memory)


def executed(program: int = 1, calls: int = 3214, function: str = "update") -> Executed:
    devices = (device("cpu:0", 1.0, 25), device("cpu:1", 1.05, 25))
    return Executed(program, function, 1000.4, calls, calls * 1.82e-3, 0.05, 25, 1.82e-3, devices)


def training_records() -> list[Record]:
    """All stages of the training step, in order."""
    lowered = Lowered(1, "update", 1000.002, 0.8e-3, 71)
    return [started(stage="trace"), traced(), lowered, started(), compiled(), executed()]
