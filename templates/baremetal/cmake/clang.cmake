# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
#
# Cross compilation with Clang: LLVM's toolchain for embedded Arm, which has a C library, or any other
# Clang, with the libraries and the linker of GNU Arm Embedded (Debian and Ubuntu: gcc-arm-none-eabi).
# Generated once by ethosgen; yours from now on.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR {{ board.cpu.core }})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a test program cannot be linked: there is no OS

set(CMAKE_C_COMPILER clang CACHE STRING "C compiler")
string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" cxx "${CMAKE_C_COMPILER}")
set(CMAKE_CXX_COMPILER "${cxx}" CACHE STRING "C++ compiler, for your own files")
set(CMAKE_C_COMPILER_TARGET arm-none-eabi)
set(CMAKE_CXX_COMPILER_TARGET arm-none-eabi)

set(core -mcpu={{ board.cpu.gcc_cpu }} -mthumb -mfloat-abi={{ board.cpu.gcc_float_abi }})
list(JOIN core " " flags)
string(APPEND flags " -ffunction-sections -fdata-sections -fno-common -fshort-enums")
set(cxx_flags "-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-use-cxa-atexit")
set(link_flags "-Wl,--gc-sections -Wl,--fatal-warnings")

execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "#include <string.h>"
  COMMAND "${CMAKE_C_COMPILER}" --target=arm-none-eabi ${core} -E -x c -
  RESULT_VARIABLE lacks_library OUTPUT_QUIET ERROR_QUIET)
if(lacks_library)
  find_program(ETHOSGEN_GCC arm-none-eabi-gcc REQUIRED DOC "The GCC whose libraries Clang uses")
{% if board.cpu.gcc_older_arch %}
  # GCC selects its libraries by the architecture: older GCCs do not support the {{ board.cpu.core }}.
  set(core -march={{ board.cpu.gcc_older_arch }} -mthumb -mfloat-abi={{ board.cpu.gcc_float_abi }})
{% endif %}
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo
    COMMAND "${ETHOSGEN_GCC}" ${core} -E -v -x c++ - ERROR_VARIABLE said OUTPUT_QUIET)
  string(REGEX MATCHALL "\n [^\n]+include[^\n]*" folders "${said}")
  foreach(folder IN LISTS folders)
    string(STRIP "${folder}" folder)
    if(EXISTS "${folder}/newlib.h")
      string(APPEND flags " -isystem \"${folder}\"")
    elseif(folder MATCHES "/c\\+\\+/")
      string(APPEND cxx_flags " -isystem \"${folder}\"")
    endif()
  endforeach()
  foreach(question -print-file-name=libc_nano.a -print-libgcc-file-name -print-prog-name=ld)
    execute_process(COMMAND "${ETHOSGEN_GCC}" ${core} ${question}
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(question MATCHES "ld$")
      string(APPEND link_flags " --ld-path=\"${answer}\" -nostdlib -Wl,-z,noexecstack")
    else()
      get_filename_component(folder "${answer}" DIRECTORY)
      string(APPEND link_flags " -L\"${folder}\"")
    endif()
  endforeach()
  set(CMAKE_C_STANDARD_LIBRARIES_INIT "-Wl,--start-group -lc_nano -lgcc -Wl,--end-group")
  set(CMAKE_CXX_STANDARD_LIBRARIES_INIT
    "-Wl,--start-group -lstdc++_nano -lsupc++_nano -lc_nano -lgcc -Wl,--end-group")
else()
  string(APPEND link_flags
    " --start-no-unused-arguments -nostartfiles --end-no-unused-arguments")
endif()
set(CMAKE_C_FLAGS_INIT "${flags}")
# Destructors of static objects run after main(), without a table that grows at run time.
set(CMAKE_CXX_FLAGS_INIT "${cxx_flags} ${flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${link_flags}")
