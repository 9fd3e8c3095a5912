"""Which build is running, for GetCapabilities."""

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """The installed package's version; "checkout" where folio runs from its source without being installed."""
    try:
        return version("folio")
    except PackageNotFoundError:
        return "checkout"
