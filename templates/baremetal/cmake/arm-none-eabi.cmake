# Cross compilation with GNU Arm Embedded (Debian and Ubuntu: gcc-arm-none-eabi).
# Generated once by ethosgen; yours from now on.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR {{ board.cpu.core }})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # there is no system to link a test program for

set(CMAKE_C_COMPILER arm-none-eabi-gcc CACHE STRING "C compiler")

{% if board.cpu.core not in board.cpu.gcc_cpu %}
# Older GCCs do not know the {{ board.cpu.core }}, and it runs what is compiled for this one.
{% endif %}
set(CMAKE_C_FLAGS_INIT
  "-mcpu={{ board.cpu.gcc_cpu }} -mthumb -mfloat-abi=hard -ffunction-sections -fdata-sections -fno-common")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "--specs=nano.specs -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings")
