"""The kernels for Armv7-M (Cortex-M3)."""

from ethosgen.aot.libraries.framework.padding import moved
from ethosgen.aot.libraries.thumb.layers import layers_of
from ethosgen.aot.libraries.thumb.matrix import ARMV7M

LAYERS = layers_of(ARMV7M, moved)
