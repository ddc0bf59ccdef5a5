"""The ports of a mesh: an input enters, and an output leaves, at the port with the shortest path.

A port is one more link of an element's router, with the bandwidth and the latency of all links.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.values.errors import InputError
from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.system import Mesh, MeshSystem, PortPlaces
from ethosgen_place.traffic import Flows, Replication


@dataclass(frozen=True)
class Gate:
    """All ports for inputs, or all for outputs.

    `elements` has the element of each port; `nearest` has for each element of the mesh the number
    of its port, and `links` the number of links of a transfer to or from there, including the
    port's own.
    """

    elements: Ints
    nearest: Ints
    links: Ints


@dataclass(frozen=True)
class Pulls:
    """The bytes that replicas get from ports and send to them for each sample, by gate."""

    gates: Sequence[Gate]
    bytes: Sequence[Floats]

    def hop_bytes(self, replicas: Ints, elements: Ints) -> Floats:
        """Return the bytes on each replica's paths, on average over the elements."""
        hops = np.zeros(len(replicas))
        for gate, sizes in zip(self.gates, self.bytes, strict=True):
            hops += sizes[replicas] * gate.links[elements].mean()
        return hops


def gates_of(system: MeshSystem) -> tuple[Gate, Gate]:
    """Return the ports for inputs and those for outputs."""
    inputs, outputs = (
        _connected(ports, system) for ports in (system.ports.input, system.ports.output)
    )
    return _gate(inputs, system.mesh), _gate(outputs, system.mesh)


def pulls_of(replication: Replication, gates: Sequence[Gate]) -> Pulls:
    """Return the bytes that each replica gets from the ports and sends to them."""
    counts = np.array(replication.counts, np.float64)
    tasks = replication.graph.tasks
    each = (
        np.array([task.input_bytes for task in tasks]) / counts,
        np.array([task.output_bytes for task in tasks]) / counts,
    )
    return Pulls(gates, [sizes[replication.task_of] for sizes in each])


def port_flows(replication: Replication, elements: Ints, gates: Sequence[Gate]) -> Flows:
    """Return the traffic between replicas and ports.

    Ports are numbered after the replicas, those for inputs first.
    """
    inputs, outputs = gates
    pulls = pulls_of(replication, gates)
    shares = 1 / np.array(replication.counts, np.float64)[replication.task_of]
    receiving, sending = (np.flatnonzero(sizes) for sizes in pulls.bytes)
    first = replication.total
    senders = first + inputs.nearest[elements[receiving]]
    receivers = first + len(inputs.elements) + outputs.nearest[elements[sending]]
    some = np.concatenate((receiving, sending))
    return Flows(
        np.concatenate((senders, sending)),
        np.concatenate((receiving, receivers)),
        np.concatenate((pulls.bytes[0][receiving], pulls.bytes[1][sending])),
        shares[some],
    )


def _connected(ports: PortPlaces, system: MeshSystem) -> PortPlaces:
    """Return the ports without those that broken links cut off; InputError if none is left."""
    if system.connected.all():
        return ports
    if isinstance(ports, str):
        elements = _gate(ports, system.mesh).elements.tolist()
        ports = tuple(system.place(element) for element in elements)
    left = tuple(p for p in ports if system.connected[p[1] * system.mesh.width + p[0]])
    if not left:
        raise InputError("broken links cut off all ports of the mesh; name other ports or links")
    return left


def _gate(ports: PortPlaces, mesh: Mesh) -> Gate:
    y, x = np.divmod(np.arange(mesh.elements), mesh.width)
    grid = np.arange(mesh.elements).reshape(mesh.height, mesh.width)
    if isinstance(ports, str):
        elements, nearest, far = {
            "west": (grid[:, 0], y, x),
            "east": (grid[:, -1], y, mesh.width - 1 - x),
            "north": (grid[0], x, y),
            "south": (grid[-1], x, mesh.height - 1 - y),
        }[ports]
        return Gate(elements, nearest, far + 1)
    nearest, far = np.zeros(mesh.elements, np.int64), np.full(mesh.elements, mesh.elements)
    for number, (port_x, port_y) in enumerate(ports):
        here = np.abs(x - port_x) + np.abs(y - port_y)
        nearer = here < far
        nearest[nearer], far[nearer] = number, here[nearer]
    return Gate(np.array([grid[port_y, port_x] for port_x, port_y in ports]), nearest, far + 1)
