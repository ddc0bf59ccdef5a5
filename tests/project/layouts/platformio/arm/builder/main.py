"""How PlatformIO builds for this platform; SCons runs it."""

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
core = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
tools = {"CC": "gcc", "CXX": "g++", "AR": "gcc-ar", "RANLIB": "gcc-ranlib", "LINK": "gcc"}
env.Replace(**{name: f"arm-none-eabi-{tool}" for name, tool in tools.items()})
env.Replace(PROGSUFFIX=".elf", PROGNAME="firmware")
env.Append(
    CCFLAGS=[*core, "-Os", "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra"],
    LINKFLAGS=[
        *core,
        "-nostartfiles",
        "-Wl,--gc-sections,--no-warn-rwx-segment",
        "--specs=nosys.specs",
    ],
    LIBS=["m"],
)
elf = env.BuildProgram()
Default(env.Alias("buildprog", elf, elf))
