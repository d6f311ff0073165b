"""Programs of xlascope's own engine for inspections; only this folder and code that runs programs import the engine."""
