
if(ETHOSU_CORE_DRIVER)
  set(header "${ETHOSU_CORE_DRIVER}/include/ethosu_driver.h")
  set(device "${ETHOSU_CORE_DRIVER}/src/ethosu_device_{{ "u85" if product == "u85" else "u55_u65" }}.c")
  set(found "")
  if(EXISTS "${header}" AND EXISTS "${device}")
    file(STRINGS "${header}" found REGEX "ethosu_semaphore_take\\(.*uint64_t|struct ethosu_device \\*dev;")
  endif()
  if(NOT found MATCHES "uint64_t" OR found MATCHES "\\*dev") # no time limit, or memory from the heap
    message(FATAL_ERROR "ETHOSU_CORE_DRIVER: ${ETHOSU_CORE_DRIVER} has no Arm ethos-u core driver "
      "that is new enough for this library; name the directory of one of June 2024 or newer")
  endif()
endif()
if(ETHOSU_CORE_DRIVER AND NOT TARGET ethosu_core_driver)
  add_library(ethosu_core_driver STATIC
    "${ETHOSU_CORE_DRIVER}/src/ethosu_driver.c"
    "${ETHOSU_CORE_DRIVER}/src/ethosu_pmu.c"
    "${device}")
  target_include_directories(ethosu_core_driver PUBLIC "${ETHOSU_CORE_DRIVER}/include")
  if(CMSIS_CORE)
    target_include_directories(ethosu_core_driver PRIVATE "${CMSIS_CORE}")
  else()
    target_include_directories(ethosu_core_driver PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/cmsis")
  endif()
  target_compile_definitions(ethosu_core_driver
    PUBLIC ETHOSU_ARCH={{ product }} ETHOS{{ product|upper }} ETHOSU
    PRIVATE ETHOSU_LOG_ENABLE=0 NDEBUG
{% if product == "u85" %}
    AXI_LIMIT_SRAM_MAX_BEATS={{ axi_beats[0] }} AXI_LIMIT_EXT_MAX_BEATS={{ axi_beats[1] }})
{% else %}
{% for i in range(4) %}
    AXI_LIMIT{{ i }}_MAX_BEATS_BYTES={{ axi_beats[i // 2] }}{{ ")" if loop.last }}
{% endfor %}
{% endif %}
endif()
if(ETHOSU_CORE_DRIVER)
  # Since April 2025 the driver asks for each region's port at run time; before, they are compiled in.
  file(STRINGS "${header}" hook REGEX "ethosu_config_select")
  if(NOT hook)
    foreach(port IN ITEMS {{ "none" if npu_ports is none }}{% for name, value in (npu_ports or {}).items() %}{{ name }}={{ value }}{{ " " if not loop.last }}{% endfor %})
      string(REGEX REPLACE "=.*" "" region "${port}")
      get_property(other GLOBAL PROPERTY ETHOSGEN_${region})
      if(port STREQUAL "none" OR (other AND NOT other STREQUAL port))
        message(FATAL_ERROR "ETHOSU_CORE_DRIVER: the driver in ${ETHOSU_CORE_DRIVER} uses the same NPU "
          "port for a region in all command streams, and these networks need different ones; use one "
          "of April 2025 or newer")
      endif()
      set_property(GLOBAL PROPERTY ETHOSGEN_${region} "${port}")
      target_compile_definitions(ethosu_core_driver PRIVATE ${port})
    endforeach()
  endif()
  ethosgen_add_common({{ base }} ethosgen_npu_core.c)
  target_link_libraries({{ base }} PUBLIC ethosu_core_driver)
else()
  ethosgen_add_common({{ base }} ethosgen_npu_direct.c)
endif()
