# Behind a project's own CMakeLists.txt: FreeRTOS's kernel from FREERTOS_KERNEL.
set(port "${FREERTOS_KERNEL}/portable/GCC/ARM_CM55_NTZ/non_secure")
if(NOT EXISTS "${port}")
  set(port "${FREERTOS_KERNEL}/portable/GCC/ARM_CM33_NTZ/non_secure")
endif()
add_library(freertos STATIC
  "${FREERTOS_KERNEL}/tasks.c"
  "${FREERTOS_KERNEL}/queue.c"
  "${FREERTOS_KERNEL}/list.c"
  "${FREERTOS_KERNEL}/portable/MemMang/heap_4.c"
  "${port}/port.c"
  "${port}/portasm.c")
target_include_directories(freertos SYSTEM PUBLIC
  "${FREERTOS_KERNEL}/include" "${port}" "${CMAKE_CURRENT_SOURCE_DIR}/app")
target_link_libraries(firmware PRIVATE freertos)
if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/app/ethosgen_freertos.c")
  target_sources(firmware PRIVATE app/ethosgen_freertos.c)
endif()
