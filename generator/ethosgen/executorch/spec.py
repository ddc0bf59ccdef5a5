"""The compile spec: what a user wants a program to be lowered for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from executorch.backends.arm.ethosu import EthosUCompileSpec
from executorch.exir.backend.compile_spec_schema import CompileSpec

from ethosgen.backend import default_accelerator, find_accelerator, load_wrapped
from ethosgen.board import load_board
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.choice import CHOICE, LoweringChoice
from ethosgen.values.errors import InputError

QUANTIZED_LIKE = "ethos-u55-128"
"""The NPU whose quantizer serves accelerators without an NPU; Arm's is the same for all."""


@dataclass(frozen=True, init=False)
class EthosgenCompileSpec:
    """An NPU, own accelerators, or both.

    `npu` is a name such as "ethos-u55-128", by default the NPU of `board`, or the first that
    ethosgen supports; "none" leaves it out. `accelerators` are names of accelerators and libraries
    that come with ethosgen, and folders with an accelerator.toml. `memory_mode`, `system_config`
    and `flags` are Vela's, and apply without accelerators; ethosgen's commands take theirs from
    the board. `check` compares each partition with the oracle on this machine.

    InputError for an unknown name, a board without the NPU, or nothing to lower for.
    """

    npu: str
    accelerators: tuple[str, ...]
    board: str | None
    memory_mode: str | None
    system_config: str | None
    flags: tuple[str, ...]
    check: bool

    def __init__(
        self,
        npu: str | None = None,
        *,
        board: str | None = None,
        accelerators: Sequence[str] = (),
        memory_mode: str | None = None,
        system_config: str | None = None,
        flags: Sequence[str] = (),
        check: bool = True,
    ) -> None:
        wrapped = tuple(str(name) for name in accelerators)
        for name in wrapped:
            load_wrapped(name)
        chosen = _npu(npu, board)
        if chosen == NO_NPU and not wrapped:
            raise InputError("there is nothing to lower for: name an NPU, or accelerators")
        if wrapped and (memory_mode or system_config or flags):
            raise InputError(
                "memory_mode, system_config and flags are Vela's, which runs later with "
                "accelerators: pass --memory-mode to ethosgen's command instead"
            )
        values = (chosen, wrapped, board, memory_mode, system_config, tuple(flags), check)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def choice(self) -> LoweringChoice:
        """What ethosgen's commands compile for."""
        return LoweringChoice(self.npu, self.accelerators)

    @cached_property
    def ethosu(self) -> Any:
        """Arm's compile spec for the NPU, which Arm's quantizer takes too."""
        return EthosUCompileSpec(
            QUANTIZED_LIKE if self.npu == NO_NPU else self.npu,
            system_config=self.system_config,
            memory_mode=self.memory_mode,
            extra_flags=list(self.flags) or None,
        )

    def quantizer(self, *, is_per_channel: bool = True) -> Any:
        """Return Arm's quantizer for the NPU, set to symmetric int8."""
        from executorch.backends.arm.quantizer import (
            EthosUQuantizer,
            get_symmetric_quantization_config,
        )

        quantizer = EthosUQuantizer(self.ethosu)
        quantizer.set_global(get_symmetric_quantization_config(is_per_channel=is_per_channel))
        return quantizer

    def to_list(self) -> list[Any]:
        """Return the spec in the form that ExecuTorch stores with a delegate."""
        chosen = CompileSpec(CHOICE, self.choice.as_text().encode())
        return [chosen] if self.accelerators else [*self.ethosu._to_list(), chosen]


def choice_of(specs: Sequence[Any]) -> LoweringChoice:
    """Return the choice in a delegate's compile specs; InputError if there is none."""
    for spec in specs:
        if spec.key == CHOICE:
            return LoweringChoice.of_text(bytes(spec.value).decode())
    raise InputError(
        f"the compile specs have no '{CHOICE}' ({json.dumps([spec.key for spec in specs])}); "
        "take them from EthosgenCompileSpec.to_list()"
    )


def _npu(npu: str | None, board: str | None) -> str:
    """Return the name of the NPU, or NO_NPU."""
    if npu == NO_NPU:
        return NO_NPU
    if board is not None:
        facts = load_board(board)
        return NO_NPU if npu is None and facts.npu is None else facts.accelerator(npu).name
    return find_accelerator(npu).name if npu else default_accelerator().name
