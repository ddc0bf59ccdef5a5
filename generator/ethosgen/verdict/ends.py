"""Tries each operator of a plan alone, driven to the ends of its inputs.

A few samples of a whole network seldom bring the operators inside to the values at which a sum
wraps or a product saturates. All that are on accelerators are compiled side by side, so that it
costs one compilation and one run of the oracle. It proves nothing about operators that the compiler
fuses.
"""

import logging
from collections.abc import Callable, Mapping

import numpy as np

from ethosgen.samples.ends import COUNT, drive_to_ends
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Network
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.values.workload import default_samples
from ethosgen.verdict.bouquet import Bouquet, gather
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import compare_defined, decisive_outputs

_log = logging.getLogger(__name__)

Make = Callable[[Network], Plan]
"""Plans a network, without the operators that errata keep on the CPU."""


def differing_at_ends(
    network: Network, plan: Plan, make: Make, oracle: str | None, most_work: int
) -> tuple[int, Mapping[int, str]]:
    """Return the number of operators tried, and for each that differs, by index, how much.

    `most_work` limits the multiplications of all samples.
    """
    offloaded = sorted(i for partition in plan.partitions for i in partition.operators)
    bouquet = gather(network, [i for i in offloaded if _has_known_ends(network, i)])
    if bouquet is None:
        return 0, {}
    try:
        return len(bouquet.origins), _differing(network, bouquet, make, oracle, most_work)
    except (EthosgenError, InputError) as error:
        _log.info("the operators of '%s' were not tried alone: %s", network.name, error)
        return 0, {}


def _has_known_ends(network: Network, index: int) -> bool:
    """Return whether an operator's inputs have known ends.

    What others compute in 32 bits or more, as between TOSA's operators, seldom reaches its type's.
    """
    tensors = network.graph.tensors
    read = [tensors[i] for i in network.graph.operators[index].inputs if i != ABSENT]
    inner = [t for t in read if t.data is None and t.index not in network.graph.inputs]
    return not any(t.dtype in ("int32", "int64") for t in inner)


def _differing(
    network: Network, bouquet: Bouquet, make: Make, oracle: str | None, most_work: int
) -> dict[int, str]:
    found = {}
    for index in _suspects(bouquet, make, oracle, most_work):
        alone = gather(network, [index])
        assert alone is not None, "it has been gathered before"
        said = _difference(alone, make, oracle, most_work)
        if said:
            found[index] = said
    return found


def _suspects(bouquet: Bouquet, make: Make, oracle: str | None, most_work: int) -> list[int]:
    """Return the operators on accelerators with other outputs than the oracle's."""
    plan = make(bouquet.network)
    on_cpu = {bouquet.origins[cpu.operator] for cpu in plan.cpu_operators}
    samples = drive_to_ends(bouquet.network)[: _count(bouquet.network, most_work)]
    outputs = simulate_samples(plan, samples, Watch())
    _, golden = decisive_outputs(bouquet.network, samples, oracle)
    names = {
        name
        for made, wanted in zip(outputs, golden, strict=True)
        for name in wanted
        if not np.array_equal(made[name], wanted[name], equal_nan=wanted[name].dtype.kind == "f")
    }
    return sorted({bouquet.origin_of(name) for name in names} - on_cpu)


def _difference(alone: Bouquet, make: Make, oracle: str | None, most_work: int) -> str:
    """Return how much an operator differs alone, "" if only where C++ leaves it undefined."""
    samples = drive_to_ends(alone.network)[: _count(alone.network, most_work)]
    plan = make(alone.network)
    made = simulate_samples(plan, samples, Watch())
    name, golden = decisive_outputs(alone.network, samples, oracle)
    found = compare_defined(alone.network, samples, name, made, golden, plan.steps)
    if not found.mismatches:
        return ""
    outputs = f"{found.mismatches} of {counted(found.elements, 'output')}"
    return f"{outputs}, by at most {found.max_abs_diff:g}"


def _count(network: Network, most_work: int) -> int:
    return default_samples(network, COUNT, most_work)
