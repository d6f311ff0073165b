"""Descriptions of XLA's passes for readers who do not know the compiler."""

from __future__ import annotations

#: Descriptions by a part of a pass's name; the first match counts. Pass names are alike on all back ends.
_DESCRIPTIONS = (
    ("algsimp", "simplifies arithmetic: x·1, x+0, a transpose of a product"),
    ("gpu-algebraic-simplifier", "simplifies arithmetic: x·1, x+0, a transpose of a product"),
    ("simplify-fp-conversions", "drops conversions there and back between floating-point types"),
    ("constant_folding", "computes what is made of constants alone, once, while compiling"),
    ("constant-folding", "computes what is made of constants alone, once, while compiling"),
    ("cse", "computes the same thing once where it stands several times"),
    ("dce", "drops what no result needs"),
    ("priority-fusion", "puts operations into kernels, those that save most time first"),
    ("multi_output_fusion", "makes one kernel with several results of kernels that read the same"),
    ("multi-output-fusion", "makes one kernel with several results of kernels that read the same"),
    ("fusion_wrapper", "makes a kernel of each operation that is left alone"),
    ("fusion-wrapper", "makes a kernel of each operation that is left alone"),
    ("dot-library-rewriter", "gives matrix products to a library"),
    ("dot_decomposer", "brings matrix products into the form that libraries take"),
    ("dot-decomposer", "brings matrix products into the form that libraries take"),
    ("gemm-rewriter", "gives matrix products to a library"),
    ("fusion", "puts operations into kernels: what lies between them is not written to memory"),
    ("layout", "chooses in which order the axes of arrays lie in memory, and copies where that differs"),
    ("copy-insertion", "copies arrays that would be overwritten while somebody still needs them"),
    ("copy", "adds or drops copies of arrays"),
    ("while-loop-invariant", "computes before a loop what is the same in each step"),
    ("while_loop", "simplifies loops"),
    ("while-loop", "simplifies loops"),
    ("simplify-while", "simplifies loops"),
    ("call-inliner", "puts the body of a called function in place of the call"),
    ("inline", "puts the body of a called function in place of the call"),
    ("flatten", "gives each call its own copy of the function called"),
    ("reshape", "moves or drops reshapes, which change no value"),
    ("transpose", "moves or drops transposes"),
    ("broadcast", "handles broadcasts: values repeated along an axis"),
    ("gather", "rewrites gathers: reading at computed places"),
    ("scatter", "rewrites scatters: writing at computed places"),
    ("batchnorm", "rewrites batch normalization into simple operations"),
    ("convolution", "rewrites convolutions into a form that libraries take"),
    ("conv", "rewrites convolutions into a form that libraries take"),
    ("tree-reduction", "splits long sums into several short ones"),
    ("reduction", "splits or merges sums and other reductions"),
    ("reduce", "splits or merges sums and other reductions"),
    ("sort", "simplifies sorting"),
    ("tuple", "drops packing of values that are unpacked again"),
    ("zero_sized", "drops arrays without elements"),
    ("zero-sized", "drops arrays without elements"),
    ("float-normalization", "computes in another type what the device has no instructions for"),
    ("bf16", "computes in another type what the device has no instructions for"),
    ("change-op-data-type", "computes in another type what the device has no instructions for"),
    ("expander", "writes one operation as several simple ones"),
    ("expand", "writes one operation as several simple ones"),
    ("rewriter", "writes operations as others that this device has"),
    ("remat", "computes values again where that saves memory"),
    ("shard", "divides arrays over devices"),
    ("spmd", "divides arrays over devices"),
    ("async", "lets work go on while data are on their way"),
    ("all-reduce", "merges or moves the exchange of data between devices"),
    ("all-gather", "merges or moves the exchange of data between devices"),
    ("collective", "merges or moves the exchange of data between devices"),
    ("schedul", "chooses the order in which kernels run"),
)


def describe_pass(name: str) -> str:
    """Return a description of a pass by its name, or ``""`` for an unknown one.

    >>> describe_pass("cse")
    'computes the same thing once where it stands several times'
    """
    return next((description for fragment, description in _DESCRIPTIONS if fragment in name.lower()), "")
