"""Compares the stack that a firmware uses in a run with the bound that follows from its code."""

import logging
from pathlib import Path

from ethosgen.project.info import ProjectInfo
from ethosgen.proof.stack import float_frames, stack_need
from ethosgen.proof.unbounded import UnboundedError
from ethosgen.values.errors import TargetError
from ethosgen.values.grammar import counted

_LOG = logging.getLogger(__name__)


class StackBounds:
    """The bounds of a firmware's networks, each computed when its first run ends."""

    def __init__(self, elf: Path, info: ProjectInfo) -> None:
        """Take the firmware's file, and its project."""
        self._elf = elf
        self._info = info
        self._bounds: dict[int, int | None] = {}

    def check(self, network: int, used: int) -> None:
        """Raise TargetError if a run used more stack than can be; 0 bytes are an unknown use."""
        if not used or not self._elf.is_file():  # a board that somebody else has flashed
            return
        if network not in self._bounds:
            self._bounds[network] = self._find(self._info.names[network])
        bound = self._bounds[network]
        _LOG.debug("%s used %s bytes of stack; the bound is %s", self._elf, used, bound)
        if bound is not None and used > bound:
            raise TargetError(
                f"{self._info.names[network]}_run() used {counted(used, 'byte')} of stack, but its "
                f"code in '{self._elf}' can use only {bound}; this is a fault of ethosgen or of "
                "the target, so report it, and trust no stack size until then"
            )

    def _find(self, name: str) -> int | None:
        try:
            return stack_need(self._elf, name, float_frames(self._info.board)).measured
        except UnboundedError as error:
            _LOG.info("the stack of %s has no bound: %s", name, error)
            return None
