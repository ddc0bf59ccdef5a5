"""Lists command streams: of networks, of Vela's raw output, and of bare files."""

import io
import zipfile
import zlib

import numpy as np

from ethosgen.backend.ethosu.accelerator import DEFAULT_NPU, EthosU, find_accelerator
from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload import (
    accelerator_for,
    compiled_for,
    offload,
    require_npu,
)
from ethosgen.backend.ethosu.payload import (
    HEADERS,
    compiled_streams,
    is_compiled,
    strip_header,
)
from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.backend.ethosu.simulator.disassembly import disassemble
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.backend.protocol import Listing
from ethosgen.values.errors import InputError, NpuFault
from ethosgen.values.network import Network
from ethosgen.values.watch import Watch

_ZIP = b"PK\3\4"
_DAMAGE = (zipfile.BadZipFile, zlib.error)
_RAW_COMMANDS = "cmd_data"
"""The array of Vela's raw output with the stream, after the driver's header."""


def list_network(network: Network, npu: EthosU | None, watch: Watch) -> list[Listing]:
    """List a network's streams, compiled first if it is not compiled."""
    if is_compiled(network):
        accelerator = _same(npu, compiled_for(network), network.name)
        streams = [payload.commands for payload in compiled_streams(network)]
    else:
        accelerator = npu or find_accelerator(DEFAULT_NPU)
        with watch.phase("offload", f"compiling for {accelerator.name} (Vela)"):
            streams = [stream_of(p).commands for p in offload(network, accelerator).partitions]
    return [_listing(f"partition_{i}", accelerator, stream) for i, stream in enumerate(streams)]


def list_file(data: bytes, name: str, npu: EthosU | None) -> list[Listing]:
    """List Vela's raw output, or a stream with or without the driver's header."""
    if data[:4] == _ZIP:
        data = _raw_commands(data, name)
    if data[:4] in HEADERS:
        payload = strip_header(data)
        accelerator = _same(npu, accelerator_for(payload.config_word, name), name)
        return [_listing(name, accelerator, payload.commands)]
    accelerator = npu or find_accelerator(DEFAULT_NPU)
    isa = instruction_set(accelerator.config_word)
    try:
        next(decode(data, isa))
    except (NpuFault, StopIteration):
        raise InputError(
            f"'{name}' is neither a .tflite, nor Vela's raw output, nor a command stream of "
            f"{isa.products}"
        ) from None
    return [_listing(name, accelerator, data)]


def _raw_commands(data: bytes, name: str) -> bytes:
    """Return the command stream from the output of `vela --output-format raw`."""
    try:
        with np.load(io.BytesIO(data)) as arrays:
            return bytes(arrays[_RAW_COMMANDS].tobytes())
    except (KeyError, ValueError, OSError, EOFError, RuntimeError, *_DAMAGE):
        raise InputError(
            f"'{name}' has no command stream; disasm reads the .npz of vela --output-format raw"
        ) from None


def _same(wanted: EthosU | None, npu: EthosU, name: str) -> EthosU:
    """Return the NPU that a file is for; InputError if the user names another."""
    if wanted is not None:
        require_npu(wanted, npu, name)
    return npu


def _listing(name: str, npu: EthosU, stream: bytes) -> Listing:
    return Listing(name, npu, len(stream), disassemble(stream, npu))
