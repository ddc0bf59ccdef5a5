"""Tries what Arm's partitioner proposes for an NPU: as TOSA, with Vela and ethosgen's check."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from executorch.backends.arm.ethosu import EthosUBackend, EthosUCompileSpec
from executorch.backends.arm.tosa.backend import TOSABackend
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from executorch.exir.delegate import executorch_call_delegate
from torch.fx.passes.operator_support import OperatorSupportBase

from ethosgen.backend import find_accelerator
from ethosgen.executorch.aten import Values, is_edge
from ethosgen.executorch.composites import TAG, composites_of
from ethosgen.executorch.spec import EthosgenCompileSpec
from ethosgen.executorch.support import REASON, is_operator
from ethosgen.flow import PlanSettings, make_plan
from ethosgen.frontend import read_source
from ethosgen.frontend.tosa import FORMAT
from ethosgen.values.errors import EthosgenError
from ethosgen.values.levels import LEVELS, levels_of, levels_text
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch

_TAGGED = "tag"
_FAILED = b"!"
"""What precedes the message of a lowering that failed."""
_UNKNOWN = "Arm's partitioner for Ethos-U does not take it"


class NpuParts:
    """The partitions of programs for an NPU alone: Arm's, as far as they are exact."""

    def __init__(self, spec: EthosgenCompileSpec) -> None:
        self._spec = spec
        self._values = Values()
        self._whole: list[Any] = []

    def tag(self, program: Any) -> dict[str, Any]:
        """Tag nodes; return the delegation of each tag, with the levels of its TOSA."""
        refused: dict[str, str] = {}
        while True:
            arm = _NotedPartitioner(self._spec.ethosu, refused)
            tags = arm.partition(program).partition_tags
            trials = self._tried(program, tags)
            new = self._new_refusals(program, trials)
            if not new:
                break
            refused |= new
            _untag(program)
        for node in program.graph.nodes:
            if is_operator(node) and TAG not in node.meta:
                known = arm.reasons().get(node.name, _UNKNOWN)
                node.meta[REASON] = refused.get(node.name, known)
        specs = self._spec.to_list()
        return {
            tag: DelegationSpec(
                EthosUBackend.__name__, [*specs, CompileSpec(LEVELS, trials[tag].levels.encode())]
            )
            for tag in tags
        }

    def whole(self, program: Any) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """Return the operators that Arm's passes want whole."""
        if is_edge(program):
            return self._whole, lambda _node: False  # it has been decomposed
        self._values.keep(program)
        arm = _NotedPartitioner(self._spec.ethosu, {})
        self._whole, is_meant = arm.ops_to_not_decompose(program)
        return self._whole, is_meant

    def _new_refusals(
        self, program: Any, trials: Mapping[str, "_TriedPartition"]
    ) -> dict[str, str]:
        """Return the operators of refused partitions that are refused alone too, else all."""
        new: dict[str, str] = {}
        bad = {tag: trial for tag, trial in trials.items() if trial.refusal}
        for tag, trial in bad.items():
            nodes = [node for node in program.graph.nodes if node.meta.get(TAG) == tag]
            groups = composites_of(nodes)
            names = {f"alone_{number}": group for number, group in enumerate(groups)}
            alone = self._tried(program, names, names)
            refused = {
                name: each.refusal
                for group, each in alone.items()
                if each.refusal
                for name in names[group]
            }
            everything = {node.name: trial.refusal for node in nodes}
            operators = {node.name for node in nodes if is_operator(node)}
            new |= {n: why for n, why in (refused or everything).items() if n in operators}
        return new

    def _tried(
        self,
        program: Any,
        tags: Collection[str],
        groups: Mapping[str, Collection[str]] | None = None,
    ) -> dict[str, "_TriedPartition"]:
        """Lower a copy of a program to TOSA, and plan each partition, or else each group."""
        if not tags:
            return {}
        trial = self._values.given_to(program)
        if groups is not None:
            _untag(trial)
            owners = {name: tag for tag, group in groups.items() for name in group}
            for node in trial.graph.nodes:
                if node.name in owners:
                    node.meta[TAG] = owners[node.name]
            tag_constant_data(trial)
        specs = self._spec.ethosu._to_list()
        delegations = {
            tag: DelegationSpec(
                EthosgenProbe.__name__, [*specs, CompileSpec(_TAGGED, tag.encode())]
            )
            for tag in tags
        }
        lowered = to_backend(trial, _Given(PartitionResult(trial, delegations)))
        return {tag: self._trial(data) for tag, data in _delegates(lowered)}

    def _trial(self, data: bytes) -> "_TriedPartition":
        """Plan a partition; what Vela or the check leave on the CPU refuses it."""
        if data.startswith(_FAILED):
            return _TriedPartition("", data[1:].decode())
        try:
            network = read_source(Source(FORMAT, "partition", data))
            accelerator = find_accelerator(self._spec.npu)
            options = OffloadOptions(check=self._spec.check, allow_fallback=True)
            plan = make_plan(network, PlanSettings(accelerator, options), Watch())
        except EthosgenError as error:
            return _TriedPartition("", str(error))
        reasons = dict.fromkeys(f"{each.code}: {each.reason}" for each in plan.cpu_operators)
        return _TriedPartition(levels_text(levels_of(network)), "; ".join(reasons))


@dataclass(frozen=True)
class _TriedPartition:
    """A partition's levels of TOSA, and why the NPU cannot run it, "" if it can."""

    levels: str
    refusal: str


@final
class EthosgenProbe(BackendDetails):  # type: ignore[misc] # torch is not installed here
    """Lowers a partition to TOSA, and no further."""

    @staticmethod
    def preprocess(edge_program: Any, compile_specs: list[Any]) -> Any:
        """Return the .tosa file, or why Arm's passes fail."""
        spec = EthosUCompileSpec._from_list(compile_specs)
        try:
            done = TOSABackend._preprocess(
                edge_program, TOSABackend.filter_tosa_compile_specs(spec)
            )
        except Exception as error:  # Arm's passes raise anything
            line = next(iter(str(error).strip().splitlines()), type(error).__name__)
            message = f"Arm's lowering to TOSA fails: {line}"
            return PreprocessResult(processed_bytes=_FAILED + message.encode())
        return PreprocessResult(processed_bytes=done.processed_bytes)


class _Given(Partitioner):  # type: ignore[misc] # torch is not installed here
    """Returns partitions that are known."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self._result = result

    def partition(self, exported_program: Any) -> Any:
        """Return the known partitions, whatever the program."""
        return PartitionResult(exported_program, self._result.partition_tags)


class _NotedPartitioner(TOSAPartitioner):  # type: ignore[misc] # torch is not installed here
    """Arm's partitioner for Ethos-U without some nodes; it keeps the reasons for others."""

    def __init__(self, spec: Any, refused: Collection[str]) -> None:
        super().__init__(spec, [_Without(refused)])
        self.delegation_spec = DelegationSpec(EthosUBackend.__name__, spec._to_list())
        self._requires_resolved_tensor_shapes = True
        self._reporters: list[Any] = []

    def _create_operator_support(self, containing_program: Any, reporter: Any) -> Any:
        self._reporters.append(reporter)
        return super()._create_operator_support(containing_program, reporter)

    def reasons(self) -> dict[str, str]:
        """Return Arm's reasons by the names of nodes."""
        reasons: dict[str, str] = {}
        for reporter in self._reporters:
            for node, reason in reporter._rejected_nodes.items():
                reasons.setdefault(node.name, " ".join(str(reason).split()))
        return reasons


class _Without(OperatorSupportBase):  # type: ignore[misc] # torch is not installed here
    """Supports all nodes but some."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def is_node_supported(self, _modules: Mapping[str, Any], node: Any) -> bool:
        """Return whether the node has none of the names."""
        return node.name not in self._names


def _delegates(program: Any) -> Iterable[tuple[str, bytes]]:
    """Yield the tag and the data of each delegate."""
    module = program.graph_module
    for node in module.graph.nodes:
        if node.target is executorch_call_delegate:
            lowered = getattr(module, node.args[0].target)
            tags = [spec.value for spec in lowered.compile_specs if spec.key == _TAGGED]
            yield bytes(tags[0]).decode(), lowered.processed_bytes


def _untag(program: Any) -> None:
    for node in program.graph.nodes:
        node.meta.pop(TAG, None)
