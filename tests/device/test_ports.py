"""The ports of RTL are wires by their names, whatever their prefix and case."""

from pathlib import Path

import pytest

from ethosgen.device.ports import Pinout, read_ports
from ethosgen.values.device import Device, DeviceModel, VerilogSettings
from ethosgen.values.errors import BuildError

APB = """
    VL_IN8(&pclk,0,0);
    VL_IN8(&aclk,0,0);
    VL_IN8(&PRESETn,0,0);
    VL_OUT8(&irq,0,0);
    VL_IN8(&engine_PSEL,0,0);
    VL_IN8(&engine_PENABLE,0,0);
    VL_IN8(&engine_PWRITE,0,0);
    VL_IN16(&engine_PADDR,11,0);
    VL_IN(&engine_PWDATA,31,0);
    VL_OUT(&engine_PRDATA,31,0);
"""
READS = """
    VL_OUT8(&m_arvalid,0,0);
    VL_IN8(&m_arready,0,0);
    VL_OUT64(&m_araddr,39,0);
    VL_IN8(&m_rvalid,0,0);
    VL_OUT8(&m_rready,0,0);
    VL_INW(&m_rdata,127,0,4);
"""


def pinout(header: str, has_interrupt: bool = True) -> Pinout:
    model = DeviceModel(Path(), "engine.sv", verilog=VerilogSettings(start=4, done=8))
    return Pinout(Device("engine", 0x40, has_interrupt, model=model), read_ports(header))


def test_names_have_prefixes_and_either_case() -> None:
    wires = pinout(APB + READS)
    assert wires.is_apb and wires.data_bits == 128
    assert [port.name for port in wires.clocks] == ["aclk", "pclk"]
    text = wires.header()
    assert "top->PRESETn = !is_on;" in text and "#define P_s_psel (top->engine_PSEL)" in text
    assert "#define P_m_rdata (top->m_rdata)" in text
    assert "P_m_awvalid = {0};" in text, "it never writes"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (APB.replace("&irq", "&busy"), "has no interrupt: .* interrupt = false in acc"),
        (APB.replace("&irq,0", "&irq,3"), "has 4 bits in 'irq', which must have 1"),
        (APB.replace("engine_PWRITE", "engine_write"), "no input 'engine_pwrite', which APB needs"),
        (APB + "VL_IN8(&psel,0,0);", "several ports for its registers, '…', 'engine_…'"),
        (APB + READS.replace("127", "95"), "has 96 bits in 'm_rdata' of its memory's port; use"),
        ("", "has no clock"),
    ],
)
def test_a_port_that_does_not_fit_is_one_sentence(header: str, said: str) -> None:
    with pytest.raises(BuildError, match=said) as caught:
        pinout(header)
    assert "\n" not in str(caught.value)


def test_a_device_without_an_interrupt_says_when_it_is_busy() -> None:
    silent = APB.replace("irq", "alarm")
    with pytest.raises(BuildError, match="has neither an output 'busy'"):
        pinout(silent, has_interrupt=False)
    assert "#define HAS_BUSY 1" in pinout(silent + "VL_OUT8(&busy,0,0);", False).header()
