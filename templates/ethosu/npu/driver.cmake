
if(ETHOSU_CORE_DRIVER AND NOT TARGET ethosu_core_driver)
  add_library(ethosu_core_driver STATIC
    "${ETHOSU_CORE_DRIVER}/src/ethosu_driver.c"
    "${ETHOSU_CORE_DRIVER}/src/ethosu_pmu.c"
    "${ETHOSU_CORE_DRIVER}/src/ethosu_device_{{ "u85" if product == "u85" else "u55_u65" }}.c")
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
  ethosgen_add_common({{ base }} ethosgen_npu_core.c)
  target_link_libraries({{ base }} PUBLIC ethosu_core_driver)
else()
  ethosgen_add_common({{ base }} ethosgen_npu_direct.c)
endif()
