"""Script that starts one plugin: exit status 0 if it has devices, else 1 and the reason. Run by ``plugin_probe``.

Nothing of the engine is loaded here: jaxlib and the plugin.
"""

import os
import sys

from jaxlib import utils, weakref_lru_cache, xla_client  # noqa: F401  (the import order is jaxlib's)


def main() -> None:
    """Start the plugin that the arguments of the command name: its PJRT name, and its library.

    The reason of a failure is written to standard output, and the process ends.
    """
    name, library = sys.argv[1:]
    answer = os.dup(1)
    os.dup2(2, 1)  # plugins print to standard output too
    try:
        xla_client.load_pjrt_plugin_dynamically(name, library)
        if not xla_client.pjrt_plugin_initialized(name):
            xla_client.initialize_pjrt_plugin(name)
        options = {"preallocate": False} if name == "cuda" else {}
        devices = xla_client.make_c_api_client(name, options, None).local_devices()
        reason = "" if devices else "it finds no device"
    except Exception as error:
        reason = str(error) or type(error).__name__
    os.write(answer, reason.encode())
    os._exit(1 if reason else 0)  # the plugins' own shutdown takes time and may abort


if __name__ == "__main__":
    main()
