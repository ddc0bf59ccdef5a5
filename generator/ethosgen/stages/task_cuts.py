"""Cuts from a task graph: another partitioner's instead of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ethosgen.stages.cuts import positions
from ethosgen.stages.task_graph import Task, read_graph
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network


@dataclass(frozen=True)
class TaskCut:
    """A task's first and last operator, and the number of elements that run it."""

    first: int
    last: int
    replicas: int = 1


def read_cuts(path: Path) -> tuple[TaskCut, ...]:
    """Read the operators and replicas of each task of a task graph, in order.

    InputError if a task does not state its operators.
    """
    graph = read_graph(path)
    for index, task in enumerate(graph.tasks):
        if task.operators is None:
            raise InputError(
                f"task graph '{path}': tasks[{index}] ('{task.name}'): operators is missing; give "
                "it the indices of the task's first and last operator, as `ethosgen place NETWORK "
                "--graph` does"
            )
    tasks = ((*_operators(task), task.replicas or 1) for task in graph.tasks)
    return tuple(TaskCut(*task) for task in sorted(tasks))


def boundaries_of(tasks: Sequence[TaskCut], network: Network, title: str) -> tuple[int, ...]:
    """Return the boundaries between stages of these first and last operators, with both ends.

    InputError if an operator is in no stage or in two, or if the network cannot be cut there.
    """
    spans = [(task.first, task.last) for task in tasks]
    count = len(network.graph.operators)
    has = f"'{network.name}' has {counted(count, 'operator')}"
    if spans[-1][1] >= count:
        raise InputError(
            f"{title}: there is no operator {spans[-1][1]}: {has}; correct the tasks' operators"
        )
    for (_, last), (first, _) in pairwise([(0, -1), *spans, (count, count)]):
        if first != last + 1:
            wrong = "is in no task" if first > last + 1 else "is in two tasks"
            raise InputError(
                f"{title}: operator {min(first, last + 1)} {wrong}: {has}, and each is in one; "
                "correct the tasks' operators"
            )
    possible = positions(network.graph)
    for first, _ in spans:
        if first not in possible:
            raise InputError(
                f"{title}: '{network.name}' cannot be cut before operator {first} "
                f"({network.graph.operators[first].title}): variables and resources stay within "
                f"one stage; cut before one of: {', '.join(map(str, possible[1:-1])) or 'none'}"
            )
    return (*(first for first, _ in spans), count)


def _operators(task: Task) -> tuple[int, int]:
    assert task.operators is not None
    return task.operators
