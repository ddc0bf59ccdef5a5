"""The kernels for Armv7-M (Cortex-M3)."""

from ethosgen.aot.dsp.pad import moved
from ethosgen.aot.thumb.layers import layers_of
from ethosgen.aot.thumb.matrix import ARMV7M

LAYERS = layers_of(ARMV7M, moved)
