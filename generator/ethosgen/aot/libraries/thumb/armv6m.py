"""The kernels for Armv6-M (Cortex-M0 and M0+)."""

from ethosgen.aot.libraries.thumb.layers import layers_of
from ethosgen.aot.libraries.thumb.matrix import ARMV6M
from ethosgen.aot.libraries.thumb.pad import moved_armv6m

LAYERS = layers_of(ARMV6M, moved_armv6m)
