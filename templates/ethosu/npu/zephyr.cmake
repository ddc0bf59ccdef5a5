
# When Arm's driver is configured for the first time, it drops the value from Zephyr's Kconfig
# (CMP0126) unless the cache already has one.
set(ETHOSU_TARGET_NPU_CONFIG {{ npu }} CACHE STRING "NPU configuration" FORCE)

# The driver's messages would go to the console, among the frames. (Zephyr's options for this depend on
# the console in one version, and on its logging in another.)
set(ETHOSU_LOG_ENABLE OFF CACHE BOOL "Let Arm's driver print messages")

include("${CMAKE_CURRENT_LIST_DIR}/ports.cmake")
