"""What may still change its names."""

from ..api.callbacks import io_callback as io_callback
