"""What may still change its names."""
