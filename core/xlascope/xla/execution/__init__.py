"""Execution of compiled programs and of single operations, and the devices that they run on."""
