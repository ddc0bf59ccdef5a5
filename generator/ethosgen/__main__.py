"""The command `ethosgen`, also as `python -m ethosgen`."""

import os
import signal
from typing import Any


def main() -> None:
    """Run the command line; Ctrl-C ends it in one line while it is still being imported."""
    usual = signal.getsignal(signal.SIGINT)
    if usual == signal.default_int_handler:  # else it is ignored, as by nohup
        signal.signal(signal.SIGINT, _leave)
    from ethosgen.cli import main as run

    signal.signal(signal.SIGINT, usual)
    run()


def _leave(_number: int, _frame: Any) -> None:
    """End at once: nothing has begun, and some packages hide an exception in their import."""
    os.write(2, b"ethosgen: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
