"""Starts one plugin and ends: exit status 0 where it has devices, or 1 and the reason. Run as a file, by ``trial``.

Nothing of the engine is loaded here: jaxlib and the plugin.
"""

import os
import sys

from jaxlib import utils, weakref_lru_cache, xla_client  # noqa: F401  (the import order is jaxlib's)


def main() -> None:
    """Start the plugin with that name, from that library."""
    name, library = sys.argv[1:]
    answer = os.dup(1)
    os.dup2(2, 1)  # what plugins print is no answer
    try:
        xla_client.load_pjrt_plugin_dynamically(name, library)
        if not xla_client.pjrt_plugin_initialized(name):
            xla_client.initialize_pjrt_plugin(name)
        options = {"preallocate": False} if name == "cuda" else {}
        found = xla_client.make_c_api_client(name, options, None).local_devices()
        reason = "" if found else "it finds no device"
    except Exception as error:
        reason = str(error) or type(error).__name__
    os.write(answer, reason.encode())
    os._exit(1 if reason else 0)  # the plugins' own ends take time and may abort


if __name__ == "__main__":
    main()
