"""The rewrites, in the order in which they are tried."""

from ethosgen.optimizer.dead.channels import DEAD_CHANNELS
from ethosgen.optimizer.dead.duplicates import EQUAL_CHANNELS
from ethosgen.optimizer.dead.operators import IDLE_OPERATORS, UNREAD_OPERATORS
from ethosgen.optimizer.graph.clamps import FUSED_ACTIVATIONS
from ethosgen.optimizer.graph.constants import FOLDED_CONSTANTS
from ethosgen.optimizer.graph.expressions import COMMON_SUBEXPRESSIONS
from ethosgen.optimizer.graph.moves import MERGED_MOVES
from ethosgen.optimizer.graph.requantizations import MERGED_REQUANTIZATIONS
from ethosgen.optimizer.graph.transposes import MOVED_TRANSPOSES
from ethosgen.optimizer.graph.windows import PADDED_WINDOWS
from ethosgen.optimizer.rewrites import Rewrite

REWRITES: list[Rewrite] = [
    UNREAD_OPERATORS,
    FOLDED_CONSTANTS,
    MERGED_MOVES,
    MOVED_TRANSPOSES,
    MERGED_REQUANTIZATIONS,
    PADDED_WINDOWS,
    FUSED_ACTIVATIONS,
    COMMON_SUBEXPRESSIONS,
    DEAD_CHANNELS,
    IDLE_OPERATORS,
    EQUAL_CHANNELS,
]
