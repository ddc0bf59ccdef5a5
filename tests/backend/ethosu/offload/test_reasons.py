"""Reasons in the user's words: from what Regor prints, and where it prints nothing."""

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload.origin import Origin
from ethosgen.backend.ethosu.offload.reasons import cpu_operators
from ethosgen.backend.ethosu.offload.vela import FASTEST, MEMORY_MODE, compile_network
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from tests.support.networks import NetworkBuilder

LOG = """
Warning (supported operators) operator: AVERAGE_POOL_2D, ofm: 'pooled'
Reason: kernel height: 300 out of range.
Kernel constraints:
  - IF padding=VALID:
    - Kernel height must be less than or equal to 256.
  - ELSE:
    - Kernel width and height must be less than or equal to 8
################################################################################
Allocation, memory Sram, usage mask: FeatureMap|Staging

Warning (supported operators) operator: RELU, ofm: 'somewhere else'
IFM must be constant.

Warning (supported operators) operator: SIN, ofm: 'wave'
Reason: Unsupported opType
"""


def few_operators() -> Network:
    net = NetworkBuilder("reasons")
    x = net.average_pool(net.input((1, 8, 8, 4), name="x"), (2, 2), name="pooled")
    x = net.unary("SIN", net.relu(x, name="rectified"), name="wave")
    net.max_pool(x, (2, 2), name="last")
    return parse_network(net.build(), net.name)


def reasons(log: str, ignore: tuple[str, ...] = ()) -> dict[str, str]:
    """Say why each operator of a network that stays wholly on the CPU does."""
    network = few_operators()
    origin = Origin(network.graph, network.graph, {})
    on_cpu = cpu_operators(network, network.graph, origin, log, ignore)
    return {operator.code: operator.reason for operator in on_cpu}


def test_regors_words_become_one_line() -> None:
    assert reasons(LOG)["AVERAGE_POOL_2D"] == (
        "kernel height: 300 out of range (Vela requires: Kernel constraints: IF padding=VALID: "
        "Kernel height must be less than or equal to 256; ELSE: Kernel width and height must be "
        "less than or equal to 8)"
    )
    assert reasons(LOG)["SIN"] == "the NPU has no such operation"


def test_the_only_reason_for_an_operator_serves_where_names_differ() -> None:
    assert reasons(LOG)["RELU"] == "Vela requires: IFM must be constant"


def test_silence_is_admitted() -> None:
    assert reasons("")["MAX_POOL_2D"] == ("Vela does not run it on the NPU and does not say why")


def test_what_was_asked_for_comes_first() -> None:
    assert reasons(LOG, ignore=("SIN",))["SIN"] == "you asked for it"


def test_an_operator_without_commands_belongs_to_its_reader() -> None:
    net = NetworkBuilder("origin")
    x = net.reshape(net.input((1, 8, 8, 4)), (1, 16, 4, 4))
    x = net.max_pool(net.conv2d(x, 4), (2, 2))
    net.fully_connected(net.reshape(x, (1, 64)), 4)
    network = parse_network(net.build(), net.name)
    compiled = compile_network(
        network,
        find_accelerator("ethos-u55-128"),
        IoStyle.ARENA,
        ("MAX_POOL_2D",),
        None,
        MEMORY_MODE,
        FASTEST,
    )
    origin = Origin(network.graph, compiled.network.graph, compiled.tables)
    assert origin.on_npu == [(0, 1), (3, 4)]
    assert list(origin.on_cpu.values()) == [2]
