"""ethosgen in programs that use TVM: the package ethosgen_relax, under its public name."""

import sys

from ethosgen import plugins

sys.modules[__name__] = plugins.part(plugins.NAMES, "relax")
