# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
#
# Cross compilation for Linux with GCC (Debian and Ubuntu: gcc-{{ board.linux.compiler|replace("_", "-") }}).
# Generated once by ethosgen; yours from now on.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {{ board.cpu.core }})

set(CMAKE_C_COMPILER {{ board.linux.compiler }}-gcc CACHE STRING "C compiler")
string(REGEX REPLACE "gcc([^/]*)$" "g++\\1" cxx "${CMAKE_C_COMPILER}")
set(CMAKE_CXX_COMPILER "${cxx}" CACHE STRING "C++ compiler")

set(CMAKE_C_FLAGS_INIT "{{ (board.linux.options + ["-ffunction-sections -fdata-sections -fno-common"])|join(" ") }}")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections")
