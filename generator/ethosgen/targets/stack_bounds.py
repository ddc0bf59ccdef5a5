"""Compares the stack that a firmware uses in runs with the bound that follows from its code."""

import logging
import os
from pathlib import Path

from ethosgen.project.info import ProjectInfo
from ethosgen.proof.stack import Need, float_frames, stack_need
from ethosgen.proof.unbounded import UnboundedError
from ethosgen.values.errors import TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.outcome import StackUse

TIGHT = "ETHOSGEN_TIGHT_STACK"
"""The variable by which a bound that is far above what its runs use becomes an error."""
MOST_ABOVE = 64

_LOG = logging.getLogger(__name__)


class StackBounds:
    """The bounds of a firmware's networks, each computed when its first run ends."""

    def __init__(self, elf: Path, info: ProjectInfo) -> None:
        """Take the firmware's file, and its project."""
        self._elf = elf
        self._info = info
        self._needs: dict[int, Need | None] = {}
        self._most: dict[int, StackUse] = {}

    def check(self, network: int, used: int, *, is_whole: bool = True) -> StackUse | None:
        """Return a run's use and bound; TargetError if it used more stack than possible.

        0 bytes mean unknown use. An incomplete run had no output yet: the answer is None.
        """
        if not used or not self._elf.is_file():  # a board that someone else has flashed
            return None
        if network not in self._needs:
            self._needs[network] = self._find(self._info.names[network])
        need = self._needs[network]
        _LOG.debug("%s used %s bytes of stack; it needs %s", self._elf, used, need)
        if need is not None and need.measured is not None and used > need.measured:
            raise TargetError(
                f"{self._info.names[network]}_run() used {counted(used, 'byte')} of stack, but its "
                f"code in '{self._elf}' can use only {need.measured}; this is a fault of ethosgen "
                "or of the target, so report it, and trust no stack size until then"
            )
        if not is_whole:
            return None
        use = StackUse(used, None)
        if need is not None:
            use = StackUse(used, need.called + need.interrupt, need.interrupt)
        self._most[network] = max(use, self._most.get(network, use), key=lambda each: each.used)
        return use

    def compare(self) -> None:
        """Log each bound that is far above the runs' use, or raise TargetError if TIGHT.

        This is not the user's fault: samples need not take the deepest path. The NPU's interrupt is
        left out, since in a run it comes during the wait and not at the deepest place.
        """
        for network, use in self._most.items():
            if use.bound is None or use.above is None or use.above <= MOST_ABOVE:
                continue
            text = (
                f"{self._info.names[network]}_run() in '{self._elf}' is bounded by "
                f"{counted(use.bound - use.interrupt, 'byte')} of stack, but these runs used "
                f"{use.used}; {MOST_ABOVE} more are usual"
            )
            _LOG.info("%s", text)
            if os.environ.get(TIGHT):
                raise TargetError(f"{text}; unset {TIGHT} to allow it")

    def _find(self, name: str) -> Need | None:
        try:
            return stack_need(self._elf, name, float_frames(self._info.board))
        except UnboundedError as error:
            _LOG.info("the stack of %s has no bound: %s", name, error)
            return None
