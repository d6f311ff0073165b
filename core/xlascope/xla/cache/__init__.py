"""What was compiled before: on disk, and for calls that were interrupted."""
