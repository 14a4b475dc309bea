"""A few of the worlds that `python -m tests.random_worlds` makes by the ten thousand."""

import pytest
from tests.random_worlds import live


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(4))
def test_random_worlds_end_well(block):
    for number in range(20 * block, 20 * block + 20):
        assert live(number).startswith(("done", "stopped"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(2))
def test_worlds_in_which_nothing_is_absurd_never_stop(block):
    for number in range(20 * block, 20 * block + 20):
        assert live(number, absurd=0.0) == "done"
