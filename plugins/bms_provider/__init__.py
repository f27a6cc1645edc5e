"""Airflow provider of the Business Management Service; this module imports nothing to keep discovery fast."""


def __getattr__(name: str) -> str:
    """Return `__version__`, the version of the installed distribution."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib.metadata  # noqa: PLC0415 - see above

    return importlib.metadata.version("bms-airflow")
