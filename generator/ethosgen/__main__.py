"""The command `ethosgen`, also as `python -m ethosgen`.

Until this module runs, Python handles Ctrl-C: importing `signal` would take as long as Python's
start.
"""

import _signal  # type: ignore[import-not-found]  # built in, and what signal is made of
import os
import sys


def _leave(_number: int, _frame: object) -> None:
    """End at once: nothing has begun, and some packages hide exceptions during their import."""
    os.write(2, b"ethosgen: interrupted\n")
    os._exit(130)


_USUAL = _signal.getsignal(_signal.SIGINT)
_IS_WORKER = "multiprocessing.spawn" in sys.modules  # it imports this too; its parent answers
if _USUAL is _signal.default_int_handler:  # else it is ignored, as by nohup
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN if _IS_WORKER else _leave)


def main() -> None:
    """Run the command line; during imports Ctrl-C ends it with one line."""
    from ethosgen.cli import main as run

    try:
        _signal.signal(_signal.SIGINT, _USUAL)
        run()
    except KeyboardInterrupt:  # before run() has its own handler
        _leave(_signal.SIGINT, None)


if __name__ == "__main__":
    main()
