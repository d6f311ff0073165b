"""System services of this layer: files, threads, logs, and hooks that the layers above set."""
