"""What may still change its names."""

from ..api.callbacks import io_callback

__all__ = ["io_callback"]
