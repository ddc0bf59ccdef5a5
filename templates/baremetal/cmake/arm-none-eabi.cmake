# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
#
# Cross compilation with GNU Arm Embedded (Debian and Ubuntu: gcc-arm-none-eabi).
# Generated once by ethosgen; yours from now on.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR {{ board.cpu.core }})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a test program cannot be linked: there is no OS

set(CMAKE_C_COMPILER arm-none-eabi-gcc CACHE STRING "C compiler")
string(REGEX REPLACE "gcc([^/]*)$" "g++\\1" cxx "${CMAKE_C_COMPILER}")
set(CMAKE_CXX_COMPILER "${cxx}" CACHE STRING "C++ compiler, for your own files")

{% if board.cpu.gcc_older_arch %}
# Older GCCs do not support the {{ board.cpu.core }}, but all support its architecture.
execute_process(COMMAND ${CMAKE_C_COMPILER} -mcpu={{ board.cpu.core }} -E -x c /dev/null
  RESULT_VARIABLE is_unknown OUTPUT_QUIET ERROR_QUIET)
if(is_unknown)
  set(cpu "-march={{ board.cpu.gcc_older_arch }}")
else()
  set(cpu "-mcpu={{ board.cpu.gcc_cpu }}")
endif()
{% endif %}
set(CMAKE_C_FLAGS_INIT
  "{{ "${cpu}" if board.cpu.gcc_older_arch else "-mcpu=" ~ board.cpu.gcc_cpu }} -mthumb -mfloat-abi={{ board.cpu.gcc_float_abi }} -ffunction-sections -fdata-sections -fno-common")
# Destructors of static objects run after main(), without a table that grows at run time.
set(CMAKE_CXX_FLAGS_INIT
  "${CMAKE_C_FLAGS_INIT} -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-use-cxa-atexit")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "--specs=nano.specs -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings")
