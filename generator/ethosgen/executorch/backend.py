"""The delegate of networks for own accelerators, which have no runtime in ExecuTorch."""

from typing import Any, final

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult

from ethosgen.executorch.aten import network_of
from ethosgen.executorch.spec import choice_of
from ethosgen.frontend import source_of

_NAME = "partition"


@final
class EthosgenBackend(BackendDetails):  # type: ignore[misc] # torch is not installed here
    """Stores a partition as a .tflite file, beside the NPU and accelerators to compile it for."""

    @staticmethod
    def preprocess(edge_program: Any, compile_specs: list[Any]) -> Any:
        """Return the file of a partition; UnsupportedError for an operator without a form."""
        choice_of(compile_specs)
        return PreprocessResult(processed_bytes=source_of(network_of(edge_program, _NAME)).data)
