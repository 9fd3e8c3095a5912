"""A gateway in front of scripted stages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.stage_servers import Suite, running_suite


@pytest.fixture
async def suite(tmp_path: Path) -> AsyncIterator[Suite]:
    async with running_suite(tmp_path) as running:
        yield running
