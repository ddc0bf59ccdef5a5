# Behind a project's own CMakeLists.txt: FreeRTOS's kernel from FREERTOS_KERNEL, with FREERTOS_PORT or
# that of a Cortex-M55.
if(NOT FREERTOS_PORT)
  set(FREERTOS_PORT ARM_CM55_NTZ/non_secure)
endif()
set(port "${FREERTOS_KERNEL}/portable/GCC/${FREERTOS_PORT}")
if(NOT EXISTS "${port}")
  set(port "${FREERTOS_KERNEL}/portable/GCC/ARM_CM33_NTZ/non_secure")
endif()
file(GLOB port_sources "${port}/port*.c")
add_library(freertos STATIC
  "${FREERTOS_KERNEL}/tasks.c"
  "${FREERTOS_KERNEL}/queue.c"
  "${FREERTOS_KERNEL}/list.c"
  "${FREERTOS_KERNEL}/portable/MemMang/heap_4.c"
  ${port_sources})
target_include_directories(freertos SYSTEM PUBLIC
  "${FREERTOS_KERNEL}/include" "${port}" "${CMAKE_CURRENT_SOURCE_DIR}/app")
target_link_libraries(firmware PRIVATE freertos)
if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/app/ethosgen_freertos.c")
  target_sources(firmware PRIVATE app/ethosgen_freertos.c)
endif()
