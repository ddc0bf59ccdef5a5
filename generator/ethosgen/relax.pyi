from ethosgen_relax import *  # noqa: F403 - the names of its __all__
