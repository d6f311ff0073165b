"""Clients and their devices, and jaxlib's array class."""
