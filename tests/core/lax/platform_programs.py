"""Linear algebra lowered for platforms that are not here: which routines of which libraries are called, and how.

Run with jax; ours is lowered by the test.
"""

import re

import numpy as np

F, D, C, Z = "float32", "float64", "complex64", "complex128"


def rows(lib):
    """Name to a function, and the shapes and dtypes of its operands."""
    of = lib.lax.linalg
    kinds, ways = of.SvdAlgorithm, of.EighImplementation
    square, tall, wide = (2, 5, 5), (2, 5, 3), (2, 3, 5)

    def svd(algorithm=None, **options):
        return lambda x: of.svd(x, algorithm=algorithm, **options)

    def eigh(implementation=None, **options):
        return lambda x: of.eigh(x, symmetrize_input=False, implementation=implementation, **options)

    yield "pivots", lambda p: of.lu_pivots_to_permutation(p, 5), [((2, 3), "int32")]
    for dtype in (F, D, C, Z):
        yield f"cholesky {dtype}", lambda x: of.cholesky(x, symmetrize_input=False), [(square, dtype)]
        yield f"lu {dtype}", of.lu, [(tall, dtype)]
        yield f"lu wide {dtype}", of.lu, [((3, 5), dtype)]
        yield f"qr {dtype}", lambda x: of.qr(x, full_matrices=False), [(tall, dtype)]
        yield f"qr full {dtype}", of.qr, [(tall, dtype)]
        yield f"qr pivoting {dtype}", lambda x: of.qr(x, pivoting=True), [(wide, dtype)]
        yield f"raw qr {dtype}", lambda x: lib.numpy.linalg.qr(x, mode="raw"), [(tall, dtype)]
        yield f"householder_product {dtype}", of.householder_product, [(tall, dtype), ((2, 3), dtype)]
        yield f"ormqr {dtype}", of.ormqr, [(tall, dtype), ((2, 3), dtype), ((2, 5, 4), dtype)]
        yield f"eigh {dtype}", eigh(lower=False), [(square, dtype)]
        yield f"svd {dtype}", svd(full_matrices=False), [(tall, dtype)]
        yield f"eig {dtype}", of.eig, [(square, dtype)]
        yield f"tridiagonal {dtype}", of.tridiagonal, [(square, dtype)]
        yield f"tridiagonal_solve {dtype}", of.tridiagonal_solve, [*[((2, 5), dtype)] * 3, (tall, dtype)]
        yield f"schur {dtype}", of.schur, [(square, dtype)]
        yield f"hessenberg {dtype}", of.hessenberg, [(square, dtype)]
    for magma in (True, False):
        yield f"qr magma {magma}", lambda x, m=magma: of.qr(x, pivoting=True, use_magma=m), [(square, F)]
        yield f"eig magma {magma}", lambda x, m=magma: of.eig(x, use_magma=m), [(square, F)]
    yield "ormqr right", lambda *x: of.ormqr(*x, left=False, transpose=True), [((5, 5), F), ((5,), F), ((3, 5), F)]
    for way in ways:
        yield f"eigh {way}", eigh(way), [(square, F)]
    yield "eigh large", eigh(), [((40, 40), F)]
    yield "eigh of a part", eigh(subset_by_index=(0, 2)), [((5, 5), F)]
    for kind in kinds:
        for shape in (tall, wide, (40, 33), (1025, 3), (3, 1025)):
            for options in ({"full_matrices": True}, {"full_matrices": False}, {"compute_uv": False}):
                yield f"svd {kind} {shape} {options}", svd(kind, **options), [(shape, F)]
    yield "svd of a part", svd(full_matrices=False, subset_by_index=(0, 2)), [(tall, F)]
    for kind in (of.EigImplementation.MAGMA, of.EigImplementation.LAPACK):
        yield (
            f"eig {kind}",
            lambda x, k=kind: of.eig(x, compute_left_eigenvectors=False, implementation=k),
            [(square, C)],
        )


def every(lib):
    """What each row calls on each platform; the class of the error where the platform is refused."""
    found = {}
    for name, function, operands in rows(lib):
        structs = [lib.ShapeDtypeStruct(shape, np.dtype(dtype)) for shape, dtype in operands]
        for platform in ("cuda", "tpu"):
            try:
                text = lib.jit(function).trace(*structs).lower(lowering_platforms=(platform,)).as_text()
            except NotImplementedError:
                found[name, platform] = "NotImplementedError"
            else:
                found[name, platform] = calls(text)
    return found


_LAYOUTS = r"{} = \[((?:dense<[^>]*> : tensor<\w+>(?:, )?)*)\]"


def calls(text):
    """The calls in StableHLO: of which name, with which options, types, layouts and shared memory."""
    found = []
    for line in text.splitlines():
        made = re.search(r"custom_call @(\w+)\(.*?(\{.*\}) : (.*?)( loc\(.*)?$", line)
        if made:
            name, attributes, types = made.groups()[:3]
            options = re.search(r'mhlo\.backend_config = (\{.*?\})|backend_config = (\{.*?\}|"[^"]*")', attributes)
            if options and options.group(0) == 'backend_config = ""':
                options = re.search(r"mhlo\.backend_config = ()(\{.*?\})", attributes) or options
            layouts = [re.findall(_LAYOUTS.format(side), attributes) for side in ("operand_layouts", "result_layouts")]
            aliases = re.findall(r"output_tuple_indices = \[\d*\], operand_index = \d+", attributes)
            found.append((name, options and (options.group(1) or options.group(2)), types, layouts, aliases))
    return found
