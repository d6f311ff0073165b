from .buffer_assignment import read_buffers as read_buffers
