"""The command line of the random networks."""

import pytest

from tests.optimizer.__main__ import main
from tests.optimizer.soak import soak


def test_a_network_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak(1) == "equal"
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SystemExit) as ended:
        patched.setattr("sys.argv", ["optimizer", "3", "0"])
        main()
    assert ended.value.code == 0
    assert "3 networks from seed 0" in capsys.readouterr().out
