"""A minimal Zephyr for checking a project with Zephyr's own parsers: symbols and nodes by name.

It declares a part of Zephyr 3.7 and 4.2 in our own words; test_zephyr_build.py builds with Zephyr
itself.
"""

from pathlib import Path

COMMON = """
config ARCH_POSIX
	bool
config SERIAL
	bool "serial"
config SERIAL_SUPPORT_INTERRUPT
	def_bool y
config UART_INTERRUPT_DRIVEN
	bool "interrupts"
config PRINTK
	bool "printk"
	default y
config BOOT_BANNER
	bool "banner"
	default y
config INIT_STACKS
	bool "paint"
config THREAD_STACK_INFO
	bool "info"
config BUILD_OUTPUT_BIN
	bool "bin"
	default y
config BUILD_OUTPUT_HEX
	bool "hex"
config MAIN_STACK_SIZE
	int "stack"
	default 7777
config COMMON_LIBC_MALLOC_ARENA_SIZE
	int "malloc"
	default 0
config MINIMAL_LIBC_OPTIMIZE_STRING_FOR_SIZE
	bool "bytes"
	default y
config DT_HAS_ETHOSGEN_NPU_BELL_ENABLED
	def_bool y
config DT_HAS_ETHOSGEN_DEVICE_ENABLED
	def_bool y
config CPU_HAS_FPU
	def_bool y
config FPU
	bool "floating point"
config FPU_SHARING
	bool "for all threads"
"""

OLDER = """
config BUILD_NO_GAP_FILL
	bool "gaps"
"""
"""Deprecated since Zephyr 4.1, which no longer fills gaps."""


def driver(prefix: str) -> str:
    """Return the symbols of Arm's driver: ARM_ETHOS_ before Zephyr 4.2, ETHOS_ since then."""
    macs = ("U55_64", "U55_128", "U55_256", "U65_256", "U65_512")
    choices = "\n".join(f'config {prefix}{name}\n\tbool "{name}"' for name in macs)
    return f"""
config {prefix}U
	bool "driver"
if {prefix}U
choice {prefix}U_NPU_CONFIG
	prompt "configuration"
{choices}
endchoice
choice {prefix}U_LOG_LEVEL_CHOICE
	prompt "log"
config {prefix}U_LOG_LEVEL_WRN
	bool "warn"
config {prefix}U_LOG_LEVEL_NONE
	bool "none"
endchoice
endif
"""


DEVICETREE = """
/dts-v1/;
/ {
	#address-cells = <1>;
	#size-cells = <1>;
	compatible = "test,board";
	nvic: interrupt-controller@e000e100 {
		compatible = "arm,v8.1m-nvic";
		reg = <0xe000e100 0xc00>;
		interrupt-controller;
		#interrupt-cells = <2>;
	};
	soc {
		#address-cells = <1>;
		#size-cells = <1>;
		ranges;
		uart0: uart@59303000 { compatible = "arm,cmsdk-uart"; reg = <0x59303000 0x1000>; };
		uart1: uart@59304000 { compatible = "arm,cmsdk-uart"; reg = <0x59304000 0x1000>; };
	};
	isram: sram@31000000 {
		compatible = "zephyr,memory-region";
		reg = <0x31000000 0x400000>;
		zephyr,memory-region = "ISRAM";
	};
	ethosu {
		#address-cells = <1>;
		#size-cells = <0>;
		ethosu0: ethosu@48102000 { compatible = "arm,ethos-u"; reg = <0x48102000>; };
	};
};
"""

BASE_BINDINGS = {
    "base.yaml": """
properties:
  compatible: {type: string-array, required: true}
  reg: {type: array}
  reg-names: {type: string-array}
  status: {type: string, enum: ["okay", "disabled"]}
  interrupts: {type: array}
  interrupt-parent: {type: phandle}
""",
    "arm,v8.1m-nvic.yaml": """
description: An interrupt controller.
compatible: "arm,v8.1m-nvic"
include: base.yaml
interrupt-cells: [irq, priority]
""",
    "zephyr,memory-region.yaml": """
description: A region of memory.
compatible: "zephyr,memory-region"
include: base.yaml
properties:
  zephyr,memory-region: {type: string, required: true}
""",
    "arm,cmsdk-uart.yaml": """
description: A UART.
compatible: "arm,cmsdk-uart"
include: base.yaml
""",
    "arm,ethos-u.yaml": """
description: An NPU.
compatible: "arm,ethos-u"
include: base.yaml
""",
}


def write_kconfig(place: Path, prefix: str) -> None:
    """Write Kconfig.zephyr with a version's driver, and with the modules' Kconfig."""
    place.mkdir(parents=True, exist_ok=True)
    older = OLDER if prefix == "ARM_ETHOS_" else ""
    (place / "Kconfig.zephyr").write_text(
        COMMON + older + driver(prefix) + '\nsource "$(MODULE)/Kconfig"\n', encoding="utf-8"
    )


def write_bindings(place: Path) -> None:
    """Write the Zephyr bindings that ours depend on."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in BASE_BINDINGS.items():
        (place / name).write_text(text, encoding="utf-8")
