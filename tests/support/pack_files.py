"""Packs like those of vendors, and a server for them, for tests of `boards from-pack`."""

import functools
import http.server
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# ruff: noqa: E501 - packs have long lines

ENSEMBLE = """
<family Dfamily="Ensemble" Dvendor="Alif Semiconductor:178">
  <processor Pname="M55_HP" Dcore="Cortex-M55" Dfpu="DP_FPU" Dmve="FP_MVE" Dtz="TZ" Dclock="400000000"/>
  <memory name="MRAM" start="0x80000000" size="0x00580000" access="rx" default="1" startup="1"/>
  <memory name="SRAM0" start="0x02000000" size="0x00400000" access="rwx" default="1"/>
  <memory name="SRAM0_alias" start="0x12000000" size="0x00400000" access="rwx" alias="SRAM0"/>
  <memory name="ITCM" start="0x00000000" size="0x00040000" access="rwx"/>
  <memory name="SRAM3" start="0x50800000" size="0x00100000" access="rwx"/>
  <memory name="DTCM" Pname="M55_HP" start="0x20000000" size="0x00100000" access="rwx" alias="SRAM3"/>
  <memory name="SRAM5" start="0x58800000" size="0x00040000" access="rwx"/>
  <memory name="DTCM_HE" Pname="M55_HE" start="0x20000000" size="0x00040000" access="rwx" alias="SRAM5"/>
  <memory name="DTCM_part" start="0x20000000" size="0x00001000" access="rwx"/>
  <memory name="Peripherals" start="0x40000000" size="0x10000000" access="rwp"/>
  <algorithm name="flash\\MRAM.FLM" start="0x80000000" size="0x00580000" default="1"/>
  <subFamily DsubFamily="E7">
    <feature type="NPU" n="Ethos-U55" m="256MACs" Pname="M55_HP"/>
    <device Dname="AE722F80"><memory name="SRAM0" start="0x02000000" size="0x00200000" access="rwx"/></device>
    <device Dname="AE722F40"/>
  </subFamily>
</family>
"""

TWO_CORES = """
<family Dfamily="Two" Dvendor="Pair Inc:99">
  <processor Pname="HP" Dcore="Cortex-M85" Dfpu="DP_FPU" Dmve="FP_MVE" Dtz="TZ" Dclock="1000000000"/>
  <processor Pname="HE" Dcore="Cortex-M33" Dfpu="NO_FPU" Dtz="NO_TZ"/>
  <memory id="IROM1" start="0x00000000" size="0x00100000" startup="1" default="1"/>
  <memory id="IRAM1" start="0x20000000" size="0x00040000" default="1"/>
  <memory name="SRAM_ns" start="0x24000000" size="0x00100000" access="rwxn"/>
  <memory name="SRAM_s" start="0x34000000" size="0x00100000" access="rwxs"/>
  <feature type="CoreOther" n="1" name="Machine learning: Ethos-U55 HP, 128 MACs"/>
  <feature type="CoreOther" n="1" name="Ethos-U55 HE"/>
  <device Dname="PAIR100"><processor Pname="HP" Dclock="800000000"/></device>
</family>
"""
"""A device that overrides one of its family's two cores: cmsis-pack-manager gives up the pack."""

SMALL = """
<family Dfamily="Small" Dvendor="Other Corp:7">
  <processor Dcore="Cortex-M23"/>
  <device Dname="AE722F80"/>
  <device Dname="SMALL4"/>
</family>
"""

WIDE = """
<family Dfamily="Wide" Dvendor="Many Corp:8">
  <memory id="IROM1" start="0x08000000" size="0x00080000" startup="1" default="1"/>
  <memory name="SRAM1" start="0x20000000" size="0x00020000" access="rwx" default="1"/>
  <device Dname="WIDE0"><processor Dcore="Cortex-M0+" Dfpu="NO_FPU" Dmpu="MPU" Dclock="48000000"/></device>
  <device Dname="WIDE3"><processor Dcore="Cortex-M3" Dmpu="NO_MPU" Dclock="72000000"/></device>
  <device Dname="WIDE4"><processor Dcore="Cortex-M4" Dfpu="SP_FPU" Dmpu="MPU" Dclock="168000000"/></device>
  <device Dname="WIDE4N"><processor Dcore="Cortex-M4" Dfpu="0" Dmpu="MPU"/></device>
  <device Dname="WIDE7"><processor Dcore="Cortex-M7" Dfpu="DP_FPU" Dmpu="MPU" Dclock="400000000"/></device>
  <device Dname="WIDE33"><processor Dcore="Cortex-M33" Dfpu="SP_FPU" Ddsp="DSP" Dtz="TZ" Dclock="160000000"/></device>
  <device Dname="WIDE33N"><processor Dcore="Cortex-M33" Dfpu="NO_FPU" Ddsp="NO_DSP" Dtz="NO_TZ" Dclock="20000000"/></device>
  <device Dname="WIDE33Q"><processor Dcore="Cortex-M33" Dclock="20000000"/></device>
</family>
"""
"""Devices of every core without an NPU."""


def description(vendor: str, name: str, devices: str, news: str = "new") -> str:
    """Return a .pdsc file's text; `news` describes its releases."""
    release = f">{news}</release>" if news else "/>"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.36">
  <vendor>{vendor}</vendor>
  <name>{name}</name>
  <description>a pack of a test</description>
  <url>http://127.0.0.1/</url>
  <releases><release version="1.2.0"{release}<release version="1.1.0"{release}</releases>
  <devices>{devices}</devices>
</package>
"""


def write_index(folder: Path, packs: dict[tuple[str, str], str], address: str) -> None:
    """Write packs' descriptions and an index of them."""
    entries = []
    for (vendor, name), text in packs.items():
        (folder / f"{vendor}.{name}.pdsc").write_text(text)
        entries.append(f'<pdsc url="{address}/" vendor="{vendor}" name="{name}" version="1.2.0"/>')
    (folder / "index.pidx").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<index schemaVersion="1.1.0">'
        f"<vendor>Test</vendor><url>{address}/</url>"
        f"<timestamp>2026-01-01T00:00:00+00:00</timestamp><pindex>{''.join(entries)}</pindex></index>"
    )


def write_pack(path: Path, text: str) -> Path:
    """Write a .pack, a zip file with the description and other files."""
    with zipfile.ZipFile(path, "w") as pack:
        pack.writestr("README.md", "a pack of a test")
        pack.writestr("Some.Name.pdsc", text)
    return path


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback; yield its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
