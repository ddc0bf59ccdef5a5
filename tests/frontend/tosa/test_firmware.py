"""Every operator and type of TOSA once on a Cortex-M, all in one firmware."""

from collections.abc import Iterator
from pathlib import Path

from ethosgen import flow
from ethosgen.aot.registry import deciding_dtype, registry
from ethosgen.project import open_project
from ethosgen.targets import run
from ethosgen.values.network import Network, Operator
from ethosgen.values.outcome import Arrays
from ethosgen.values.tosa import PREFIX
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import golden_answer
from tests.support.needs import needs_qemu, needs_tosa
from tests.support.recipes import recipe
from tests.support.tosa_cases import CASES
from tests.support.tosa_float_cases import FLOAT_CASES
from tests.support.tosa_networks import TosaBuilder

PARTS = 8
"""Networks that share the cases, so that none has too many inputs."""
MOST = 60
"""Most instances drawn of an operator; it gets as few as have all its types."""


def _key(net: TosaBuilder, op: Operator) -> tuple[str, str]:
    return op.code, deciding_dtype(op, net.tensors)


def _instances(net: TosaBuilder, name: str) -> Iterator[int]:
    """Draw instances of an operator until it has all its types, with floats first."""
    wanted = {key for key in registry() if key[0] == f"{PREFIX}{name}"}
    floats = {key for key in wanted if key[1] == "float32"}
    for cases, types in ((FLOAT_CASES, floats), (CASES, wanted)):
        for _ in range(MOST):
            if types <= {_key(net, op) for op in net.operators}:
                break
            yield cases[name](net)


def _part(number: int) -> tuple[Network, Arrays]:
    """Return a network with an instance for each type of some operators, and a sample."""
    net = TosaBuilder(f"part_{number}", seed=number)
    names = sorted({*CASES, *FLOAT_CASES})[number::PARTS]
    outputs = [output for name in names for output in _instances(net, name)]
    return net.network(*outputs), net.sample()


@needs_qemu
@needs_tosa
def test_every_operator_and_type_runs_on_a_cortex_m(tmp_path: Path) -> None:
    parts = [_part(number) for number in range(PARTS)]
    covered = {
        (op.code, deciding_dtype(op, network.graph.tensors))
        for network, _ in parts
        for op in network.graph.operators
    }
    assert covered == {key for key in registry() if key[0].startswith(PREFIX)}
    files = []
    for network, _ in parts:
        files.append(tmp_path / f"{network.name}.tosa")
        assert network.source
        files[-1].write_bytes(network.source.data)
    folder, watch = tmp_path / "firmware", Watch()
    flow.create_project(recipe(*files, npu="none", io="caller"), directory=folder, watch=watch)
    built = flow.build_project(folder, watch=watch)
    samples = [sample for _, sample in parts]
    outcome = run(built.elf, open_project(folder), samples, order=range(PARTS), attach=None)
    assert outcome.ended
    for (network, sample), result in zip(parts, outcome.samples, strict=True):
        comparison = golden_answer(network, [sample]).against([result.outputs])
        assert comparison.elements
        assert not comparison.mismatches, comparison.first and comparison.first.text()
