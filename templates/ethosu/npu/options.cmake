#
# The NPU driver is our own, or Arm's ethos-u core driver if ETHOSU_CORE_DRIVER is the directory of its
# sources (and CMSIS_CORE that of CMSIS-Core's headers).

set(ETHOSU_CORE_DRIVER "" CACHE PATH "Sources of Arm's ethos-u core driver; empty: the direct driver")
set(CMSIS_CORE "" CACHE PATH "CMSIS/Core/Include, for Arm's driver; empty: the few names that it needs")
