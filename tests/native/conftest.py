from collections.abc import Iterator

import pytest

from native import maxsim


@pytest.fixture(params=maxsim.kernels())
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kernel that runs on this processor; the others are checked by native/check.sh."""
    maxsim.select_kernel(request.param)
    yield request.param
    maxsim.select_kernel()
