"""Where the public data is: FOLIO_DATA, or the folder shared/data beside the checkout."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def public_data() -> Path:
    folder = Path(os.environ.get("FOLIO_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; set FOLIO_DATA to its folder")
    return folder
