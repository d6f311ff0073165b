"""Platforms: detection of hardware, discovery and start of PJRT plugins, and selection of the default platform.

A GPU or TPU is run by a *PJRT plugin*, a library that comes in a separate package and is loaded into this process.
"""
