"""What is asked of the compiler for programs on eight devices."""

import numpy as np


def asked_again(lib):
    """What was asked for a program, and what is asked when it is lowered again with results of equal parts."""
    # In the process with eight devices.
    from xlascope.xla.compilation import compile_program as compiling  # noqa: PLC0415
    from xlascope.xla.compilation.compile_request import CompileOptions, CompileRequest  # noqa: PLC0415
    from xlascope.xla.execution.placement import partition_on_mesh  # noqa: PLC0415

    mesh = lib.sharding.Mesh(np.array(lib.devices()), ("x",))
    in_parts = lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x"))
    program = lib.make_jaxpr(lambda x, unused: x[1:] * 2)(np.ones(16, np.float32), np.ones(16, np.float32))
    options = CompileOptions(keep="off", reroll="always", keep_unused=True, flags=(("xla_cpu_enable_fast_math", "0"),))
    request = CompileRequest(program, options, (True, False), None, partition_on_mesh(mesh, [in_parts, in_parts]))
    first = compiling.lower_program(request, "cpu")
    second = compiling._replicate_uneven_results(first, [in_parts], lib.devices()[0])
    whole = [each.is_fully_replicated for each in second.request.partition.results]
    return [
        (each.request.options, each.request.donated, each.number, each.lowered_module.kept_operands)
        for each in (first, second)
    ], whole
