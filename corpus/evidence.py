"""What there is to judge a difference by: the network, the setting, all values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corpus.settings import Setting
from ethosgen.model import Graph

TFLM, LITERT, FAULT = "tflm", "litert", "fault"

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Evidence:
    """A difference from an oracle, or a fault (`against`).

    `equal` says of each oracle that answered whether the NPU equals it. `samples` and `outputs` are
    by tensor name, `golden` what `against` answered, in the order of the outputs; all are empty for
    a fault.
    """

    graph: Graph
    setting: Setting
    against: str
    largest: int = 0
    equal: Mapping[str, bool] = field(default_factory=dict)
    samples: Sequence[Arrays] = ()
    outputs: Sequence[Arrays] = ()
    golden: Sequence[Sequence[Array]] = ()
