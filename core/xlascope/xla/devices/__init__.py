"""Clients and their devices, and the class of arrays that jaxlib has."""
