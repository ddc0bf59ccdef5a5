"""Find the chains of operators in a graph that a declaration takes, or why it refuses them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ethosgen.backend.wrapped.declaration import DeclaredOperation
from ethosgen.backend.wrapped.expressions import AbsentError
from ethosgen.backend.wrapped.site import CLAMPS, PAD, ChainSite, Member, keeps_values, source_of
from ethosgen.values.network import Graph, Operator


@dataclass(frozen=True)
class Match:
    """Operators that an accelerator takes with operation `number` of its declaration."""

    number: int
    operation: DeclaredOperation
    site: ChainSite


class Graphs:
    """A graph with its tensors' readers and writers."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.readers: dict[int, list[Operator]] = {}
        self.makers: dict[int, Operator] = {}
        for operator in graph.operators:
            for tensor in dict.fromkeys(operator.inputs):
                self.readers.setdefault(tensor, []).append(operator)
            self.makers |= dict.fromkeys(operator.outputs, operator)

    def after(self, operator: Operator) -> Operator | None:
        """Return the only reader of an operator's only output, None if there is none."""
        if len(operator.outputs) != 1 or operator.outputs[0] in self.graph.outputs:
            return None
        readers = self.readers.get(operator.outputs[0], [])
        return readers[0] if len(readers) == 1 else None

    def before(self, operator: Operator) -> Operator | None:
        """Return the writer of an operator's first input if nothing else reads it."""
        maker = self.makers.get(operator.inputs[0]) if operator.inputs else None
        return maker if maker is not None and self.after(maker) is operator else None


def find_sites(operation: DeclaredOperation, graphs: Graphs, main: Operator) -> Iterator[ChainSite]:
    """Yield the longest chain of an operation around its main operator, and it without a PAD."""
    site = _longest(operation, graphs, main)
    if site is None:
        return
    yield site
    if site.padding_before is not None:
        yield ChainSite(graphs.graph, site.members[1:], (*site.absent, PAD))


def _longest(operation: DeclaredOperation, graphs: Graphs, main: Operator) -> ChainSite | None:
    codes, place = operation.codes, operation.main
    if main.code != codes[place]:
        return None
    members, absent = [Member(main)], []
    last = main
    for member in operation.chain[place + 1 :]:
        code = member.removesuffix("?")
        following = graphs.after(last)
        if following is not None and following.code == code and _joins(graphs.graph, following):
            members.append(Member(following, f"{code.lower()}_"))
            last = following
        elif member.endswith("?"):
            absent.append(code)
        else:
            return None
    first = main
    for code in reversed(codes[:place]):  # these are optional: the main one is the first required
        preceding = graphs.before(first)
        if preceding is not None and preceding.code == code and _leads(graphs.graph, preceding):
            members.insert(0, Member(preceding, f"{code.lower()}_"))
            first = preceding
        else:
            absent.append(code)
    return ChainSite(graphs.graph, tuple(members), tuple(absent))


def _joins(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator may follow in a chain: a clamp must only narrow the range."""
    return operator.code not in CLAMPS or keeps_values(graph, operator)


def _leads(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator may precede: a PAD of height and width with the zero point."""
    if operator.code != PAD:
        return True
    sizes = graph.tensors[operator.inputs[1]]
    if sizes.data is None or sizes.shape != (4, 2):
        return False
    array = sizes.array()
    return keeps_scale(graph, operator) and not array[[0, 3]].any() and not (array < 0).any()


def keeps_scale(graph: Graph, operator: Operator) -> bool:
    """Return whether an operator's first input and output have the same quantization."""
    source, target = (graph.tensors[i] for i in (operator.inputs[0], operator.outputs[0]))
    return source.quantization == target.quantization


def type_refusal(operation: DeclaredOperation, site: ChainSite) -> str:
    """Return why an operation cannot run on a chain's types, "" if it can.

    Call it before a user's Python sees the chain, whose terms depend on the types.
    """
    graph = site.graph
    ends = (source_of(site.main), site.outputs[0])
    dtypes = [graph.tensors[i].dtype for i in ends if i >= 0]
    if wrong := [dtype for dtype in dtypes if dtype not in operation.dtypes]:
        return f"it takes {' and '.join(operation.dtypes)}, not {wrong[0]}"
    named = {i.index for name, i in site.tensors.items() if name in operation.arguments}
    kept = [
        i for op in site.operators for i in op.inputs if i >= 0 and graph.tensors[i].is_variable
    ]
    if len(set(kept)) < len(kept) or not named.issuperset(kept):
        return "it cannot keep a variable that is not among its arguments"
    return ""


def refusal_of(operation: DeclaredOperation, site: ChainSite, where: Mapping[str, str]) -> str:
    """Return the first predicate that is false for a chain, with its terms; "" if all are true.

    `where` maps a predicate to its place in the file.
    """
    terms = site.terms
    for predicate in operation.predicates:
        try:
            if not predicate.evaluate(terms):
                known = ((name, terms.get(name)) for name in predicate.ordered_names)
                shown = [f"{name} is {v!r}" for name, v in known if not isinstance(v, bool | None)]
                values = f": {', '.join(shown)}" if shown else ""
                return f"{predicate.text} is not true{where.get(predicate.text, '')}{values}"
        except AbsentError as name:
            return f"there is no {name} for {predicate.text}{where.get(predicate.text, '')}"
        except ValueError as error:
            return f"{error}{where.get(predicate.text, '')}"
    return ""
