"""ethosgen as a backend of ONNX's own tests (onnx.backend.test).

A network runs on the CPU's code on this machine, or partly on an NPU's model, or as firmware on
QEMU. What ethosgen refuses is skipped with its sentence. A network that ethosgen refuses because it
computes what must be constant, such as a scale or a shape, runs with all inputs but the first as
constants: the suite makes an input of everything.
"""

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep

from ethosgen.frontend import read_source
from ethosgen.frontend.onnx import FORMAT
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Network
from ethosgen.values.source import Source
from tests.suites.golden_tests import CPU, run_samples

Array = np.ndarray[Any, Any]


class PreparedNetwork(BackendRep):  # type: ignore[misc]  # onnx's base has no types
    """A network that runs on the suite's inputs."""

    def __init__(self, model: Any, on: str) -> None:
        self.model, self.on = model, on
        self.on_npu = 0
        self.is_bound = False

    def run(self, inputs: Sequence[Any], **_options: Any) -> tuple[Any, ...]:
        """Return the outputs for the inputs, both in the order of the network's."""
        try:
            return self._run(self.model, inputs)
        except EthosgenError as error:
            is_plain = all(isinstance(held, np.ndarray) for held in inputs)
            if len(inputs) < 2 or len(self.model.graph.input) != len(inputs) or not is_plain:
                raise unittest.SkipTest(str(error)) from None
        try:
            self.is_bound = True
            return self._run(bound(self.model, inputs), inputs[:1])
        except EthosgenError as error:
            raise unittest.SkipTest(str(error)) from None

    def _run(self, model: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
        network = read_model(model)
        sample = {tensor.name: array for tensor, array in zip(network.inputs, inputs, strict=True)}
        (outputs,), self.on_npu = run_samples(network, [sample], self.on)
        return tuple(outputs[tensor.name] for tensor in network.outputs)


class EthosgenBackend(Backend):  # type: ignore[misc]  # onnx's base has no types
    """ethosgen, on what is set; `prepared` is the last test's network."""

    on = CPU
    prepared: PreparedNetwork | None = None

    @classmethod
    def prepare(cls, model: Any, _device: str = "CPU", **_options: Any) -> PreparedNetwork:
        """Return a network that runs."""
        EthosgenBackend.prepared = PreparedNetwork(model, cls.on)
        return EthosgenBackend.prepared

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether tests for a device run; the suite knows CPU and CUDA."""
        return device == "CPU"


def read_model(model: Any) -> Network:
    """Read a model as if from its file."""
    return read_source(Source(FORMAT, f"{model.graph.name}.onnx", model.SerializeToString()))


def bound(model: Any, inputs: Sequence[Any]) -> Any:
    """Return a model with all inputs but the first as constants."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = max(copy.ir_version, 4)  # before it, constants are inputs as well
    for port, array in zip(model.graph.input[1:], inputs[1:], strict=True):
        copy.graph.initializer.append(numpy_helper.from_array(array, port.name))
    del copy.graph.input[1:]
    return copy
