"""Every operator and type of TOSA's integer profile once on a Cortex-M, all in one firmware."""

from pathlib import Path

from ethosgen import flow
from ethosgen.aot.registry import deciding_dtype, registry
from ethosgen.oracle.tosa import reference_outputs
from ethosgen.project import open_project
from ethosgen.targets import run
from ethosgen.values.network import Network, Operator
from ethosgen.values.outcome import Arrays, compare
from ethosgen.values.tosa import PREFIX
from ethosgen.values.watch import Watch
from tests.support.needs import needs_qemu, needs_tosa
from tests.support.recipes import recipe
from tests.support.tosa_cases import CASES
from tests.support.tosa_networks import TosaBuilder

PARTS = 8
"""Networks that share the cases, so that none has too many inputs."""
MOST = 60
"""Most instances drawn of an operator; it gets as few as have all its types."""


def _key(net: TosaBuilder, op: Operator) -> tuple[str, str]:
    return op.code, deciding_dtype(op, net.tensors)


def _part(number: int) -> tuple[Network, Arrays]:
    """Return a network with an instance for each type of some operators, and a sample."""
    net = TosaBuilder(f"part_{number}", seed=number)
    outputs, seen = [], set[tuple[str, str]]()
    for name in sorted(CASES)[number::PARTS]:
        wanted = {key for key in registry() if key[0] == f"{PREFIX}{name}"}
        for _ in range(MOST):
            if wanted <= seen:
                break
            outputs.append(CASES[name](net))
            seen |= {_key(net, op) for op in net.operators}
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
        golden = reference_outputs(network, [sample])
        comparison = compare("", [result.outputs], golden)
        assert comparison.elements
        assert not comparison.mismatches, comparison.first and comparison.first.text()
