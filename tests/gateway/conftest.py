"""A gateway in front of scripted services."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.suite import Suite, running_suite


@pytest.fixture
async def suite(tmp_path: Path) -> AsyncIterator[Suite]:
    async with running_suite(tmp_path) as running:
        yield running
