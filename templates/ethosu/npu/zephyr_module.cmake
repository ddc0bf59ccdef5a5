
# Arm's driver is compiled for one NPU, which the application chooses.
if(CONFIG_ETHOSGEN_NPU AND NOT CONFIG_ARCH_POSIX)
  if(NOT CONFIG_ETHOS_U AND NOT CONFIG_ARM_ETHOS_U)
    message(FATAL_ERROR "{{ title }} needs Arm's NPU driver: set CONFIG_ETHOS_U=y and "
      "CONFIG_ETHOS_{{ npu_symbol }}=y (before Zephyr 4.2 CONFIG_ARM_ETHOS_U and CONFIG_ARM_ETHOS_{{ npu_symbol }}), "
      "with the module hal_ethos_u")
  endif()
  if(NOT CONFIG_ETHOS_{{ npu_symbol }} AND NOT CONFIG_ARM_ETHOS_{{ npu_symbol }})
    message(FATAL_ERROR "{{ title }} {{ "are" if is_shared else "is" }} compiled for {{ npu }}, and Arm's driver for another NPU: set "
      "CONFIG_ETHOS_{{ npu_symbol }}=y (before Zephyr 4.2 CONFIG_ARM_ETHOS_{{ npu_symbol }}), or generate again "
      "with --npu")
  endif()
  if(CONFIG_ARM_ETHOS_U AND NOT ETHOSU_TARGET_NPU_CONFIG STREQUAL "{{ npu }}")
    message(FATAL_ERROR "Zephyr before 4.2 does not pass the NPU's name on to Arm's driver: put "
      "include(${CMAKE_CURRENT_LIST_DIR}/../npu.cmake) above find_package(Zephyr) in your "
      "application's CMakeLists.txt")
  endif()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/../ports.cmake")
