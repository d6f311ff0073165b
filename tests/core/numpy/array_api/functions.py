"""What the array API standard (2024.12) lists: functions with their parameters, dtypes, constants, arrays' members.

A line is a function as it is written in Python.
"""

from __future__ import annotations

#: Elementwise functions of one array, and of two, and the kinds of dtypes that they are for.
ONE = {
    "numeric": "abs conj negative positive real sign square isfinite isinf isnan round",
    "real": "ceil floor trunc",
    "floating": """
        acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt tan tanh
    """,
    "real floating": "signbit",
    "complex floating": "imag",
    "integer or bool": "bitwise_invert",
    "bool": "logical_not",
}
TWO = {
    "numeric": "add multiply pow subtract",
    "any": "equal not_equal",
    "real": "floor_divide greater greater_equal less less_equal maximum minimum remainder",
    "floating": "divide",
    "real floating": "atan2 copysign hypot logaddexp nextafter",
    "integer or bool": "bitwise_and bitwise_or bitwise_xor",
    "integer": "bitwise_left_shift bitwise_right_shift",
    "bool": "logical_and logical_or logical_xor",
}

REST = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
clip(x, /, min=None, max=None)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode="reduced")
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=True)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fft(x, /, *, n=None, axis=-1, norm="backward")
fft.ifft(x, /, *, n=None, axis=-1, norm="backward")
fft.fftn(x, /, *, s=None, axes=None, norm="backward")
fft.ifftn(x, /, *, s=None, axes=None, norm="backward")
fft.rfft(x, /, *, n=None, axis=-1, norm="backward")
fft.irfft(x, /, *, n=None, axis=-1, norm="backward")
fft.rfftn(x, /, *, s=None, axes=None, norm="backward")
fft.irfftn(x, /, *, s=None, axes=None, norm="backward")
fft.hfft(x, /, *, n=None, axis=-1, norm="backward")
fft.ihfft(x, /, *, n=None, axis=-1, norm="backward")
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
"""
CONSTANTS = {"e": 2.718281828459045, "pi": 3.141592653589793, "inf": float("inf"), "nan": float("nan"), "newaxis": None}
_DTYPES = """
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""
DTYPES = _DTYPES.split()

#: What an array has: attributes, and methods with how they are called.
ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]
_METHODS = """
__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__
__mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__
to_device __radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__
__rrshift__ __rsub__ __rtruediv__ __rxor__
"""
METHODS = _METHODS.split()

#: Which dtypes are of a kind.
KINDS = {
    "bool": ["bool"],
    "integer": [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
KINDS |= {
    "integer or bool": [*KINDS["integer"], *KINDS["bool"]],
    "real": [*KINDS["integer"], *KINDS["real floating"]],
    "floating": [*KINDS["real floating"], *KINDS["complex floating"]],
    "numeric": [*KINDS["integer"], *KINDS["real floating"], *KINDS["complex floating"]],
    "any": DTYPES,
}


def signatures() -> dict[str, str]:
    """The parameters of every function, by its name."""
    found = {name: "x, /" for names in ONE.values() for name in names.split()}
    found |= {name: "x1, x2, /" for names in TWO.values() for name in names.split()}
    for line in filter(None, REST.splitlines()):
        name, _, parameters = line.partition("(")
        found[name] = parameters.removesuffix(")")
    return found
