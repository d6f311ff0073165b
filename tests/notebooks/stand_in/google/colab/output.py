"""Colab's front end is told to load a widget manager from an address."""

import types

_widgets = types.SimpleNamespace(_installed_url=None)


def enable_custom_widget_manager(version: str = "") -> None:
    """Remember the address, as Colab's does; outputs of widgets name it."""
    _widgets._installed_url = f"https://ssl.gstatic.com/stand-in/{version}/manager.min.js"


def disable_custom_widget_manager() -> None:
    """Forget it."""
    _widgets._installed_url = None
