"""Pack descriptions (.pdsc): the devices in one, with the properties of their family.

Tags and attributes are those of the Open-CMSIS-Pack specification. The definition of a property
nearest to the device wins; Pname identifies processors, names identify memories.
"""

import difflib
import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted

_LEVELS = ("family", "subFamily", "device", "variant")
_SELECTION = re.compile(r"(?:(?P<vendor>[^:]+)::)?(?P<device>[^:]+)(?::(?P<processor>[^:]+))?")
_NPU = re.compile(r"ethos-?\s?(u\d+)", re.IGNORECASE)
_MACS = re.compile(r"(\d+)\s*MACs?\b", re.IGNORECASE)
_CORES = (
    "Cortex-M0", "Cortex-M0+", "Cortex-M3", "Cortex-M4", "Cortex-M7",
    "Cortex-M33", "Cortex-M52", "Cortex-M55", "Cortex-M85",
)  # fmt: skip
"""Cores that ethosgen generates firmware for."""


@dataclass(frozen=True)
class PackProcessor:
    """A <processor>; None means that the pack does not say."""

    name: str | None
    core: str
    fpu: str | None
    dsp: str | None
    mve: str | None
    trustzone: str | None
    clock_hz: int | None


@dataclass(frozen=True)
class PackMemory:
    """A <memory>; `access` has the specification's letters, which include p, s, n and c.

    `alias` names the memory of which this is another address.
    """

    name: str
    start_addr: int
    size_bytes: int
    access: str
    default: bool
    startup: bool
    processor: str | None
    alias: str | None = None


@dataclass(frozen=True)
class Algorithm:
    """An <algorithm> that flashes a range."""

    file: str
    start_addr: int | None
    size_bytes: int | None


@dataclass(frozen=True)
class NpuFeature:
    """An NPU that a <feature> names: its product ("u55"), and its MACs if the pack gives them."""

    product: str
    macs: int | None
    processor: str | None
    words: str


@dataclass(frozen=True)
class PackDevice:
    """A device of a pack; `pack` is VENDOR::NAME@VERSION, `source` the description's path."""

    name: str
    vendor: str
    pack: str
    source: str
    processors: tuple[PackProcessor, ...]
    memories: tuple[PackMemory, ...]
    algorithms: tuple[Algorithm, ...]
    npus: tuple[NpuFeature, ...]

    def processor(self, name: str | None) -> PackProcessor:
        """Return the core of that name, or the only one; InputError lists the device's cores."""
        able = [p for p in self.processors if p.core in _CORES]
        names = ", ".join(f"{p.name or 'unnamed'} ({p.core})" for p in self.processors) or "none"
        if not able:
            raise InputError(
                f"device '{self.name}' has no core that ethosgen supports "
                f"({', '.join(_CORES)}); its cores: {names}"
            )
        chosen = [p for p in able if name in (None, p.name)]
        if len(chosen) == 1:
            return chosen[0]
        example = f"{self.name}:{able[0].name or 'CORE'}"
        raise InputError(
            f"device '{self.name}' has "
            f"{'several cores' if name is None else f'no supported core {name!r}'}; name one "
            f"after a colon, as in {example}; it has: {names}"
        )


@dataclass(frozen=True)
class Selection:
    """The user's selection, in CMSIS-Toolbox's notation: [VENDOR::]DEVICE[:CORE]."""

    vendor: str | None
    device: str
    processor: str | None

    @staticmethod
    def parse(text: str) -> "Selection":
        """Read the three parts; InputError if the device is missing."""
        parts = _SELECTION.fullmatch(text.strip())
        if parts is None:
            raise InputError(f"'{text}' names no device; write it as [VENDOR::]DEVICE[:CORE]")
        return Selection(parts["vendor"], parts["device"], parts["processor"])

    def matches(self, device: PackDevice) -> bool:
        """Return whether this is the device; ignores case."""
        is_vendor = self.vendor is None or self.vendor.casefold() == device.vendor.casefold()
        return is_vendor and self.device.casefold() == device.name.casefold()

    def similar(self, names: Sequence[str]) -> str:
        """Return the end of an error: similar names, or their number."""
        known = {name.casefold(): name for name in names}
        wanted = self.device.casefold()
        near = [known[key] for key in known if wanted in key or key in wanted]
        near += [known[key] for key in difflib.get_close_matches(wanted, known, n=6)]
        if near:
            return f"; similar names: {', '.join(sorted(set(near))[:6])}"
        return f"; it has {counted(len(known), 'other')}" if known else "; it has none"


class Description:
    """One pack's description."""

    def __init__(self, root: ET.Element, source: str) -> None:
        self.source = source
        self._root = root

    @property
    def pack(self) -> str:
        """VENDOR::NAME@VERSION, with the newest release, which comes first."""
        release = self._root.find("releases/release")
        version = release.get("version") if release is not None else None
        name = f"{self._text('vendor')}::{self._text('name')}"
        return f"{name}@{version}" if version else name

    def devices(self) -> Iterator[PackDevice]:
        """Yield every device, and every variant of each."""
        for family in self._root.iterfind("devices/family"):
            yield from self._below(family, ())

    def _text(self, tag: str) -> str:
        return (self._root.findtext(tag) or "?").strip()

    def _below(self, element: ET.Element, above: tuple[ET.Element, ...]) -> Iterator[PackDevice]:
        chain = (*above, element)
        inner = [child for child in element if child.tag in _LEVELS]
        if element.tag in ("device", "variant"):
            yield self._device(chain)
        for child in inner:
            yield from self._below(child, chain)

    def _device(self, chain: tuple[ET.Element, ...]) -> PackDevice:
        own = chain[-1]
        vendor = next((e.get("Dvendor", "") for e in reversed(chain) if e.get("Dvendor")), "")
        return PackDevice(
            name=own.get("Dvariant") or own.get("Dname") or "?",
            vendor=vendor.split(":")[0] or self._text("vendor"),
            pack=self.pack,
            source=self.source,
            processors=tuple(_processors(chain)),
            memories=tuple(_memories(chain)),
            algorithms=tuple(_algorithms(chain)),
            npus=tuple(_npus(chain)),
        )


def read_pack(path: Path) -> Description:
    """Read a .pdsc file, or the one in a .pack file; InputError if it cannot be read."""
    try:
        if path.suffix.lower() == ".pack":
            with zipfile.ZipFile(path) as pack:
                inside = [n for n in pack.namelist() if n.lower().endswith(".pdsc")]
                if not inside:
                    raise InputError(f"'{path}' is not a CMSIS pack: it has no .pdsc file")
                return read_description(pack.read(inside[0]), f"{path}:{inside[0]}")
        return read_description(path.read_bytes(), str(path))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise InputError(f"'{path}' is not a CMSIS pack: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read pack '{path}': {error.strerror}") from None


def read_description(data: bytes, source: str) -> Description:
    """Read a description; InputError names the damaged line."""
    try:
        root = ET.fromstring(data)
    except (ET.ParseError, LookupError, ValueError) as error:  # the latter two: a bad encoding
        raise InputError(
            f"pack description '{source}' is damaged ({error}); fetch the pack again"
        ) from None
    if root.tag != "package":
        raise InputError(f"'{source}' is not a pack description: it begins with <{root.tag}>")
    return Description(root, source)


def _processors(chain: tuple[ET.Element, ...]) -> Iterator[PackProcessor]:
    """Yield the cores: one without a Pname applies to all, or is the only one."""
    shared: dict[str, str] = {}
    named: dict[str, dict[str, str]] = {}
    for element in chain:
        for processor in element.iterfind("processor"):
            name = processor.get("Pname")
            if name is None:
                shared |= processor.attrib
                for attributes in named.values():
                    attributes.update(processor.attrib)
            else:
                named[name] = {**shared, **named.get(name, {}), **processor.attrib}
    for core in named.values() or ([shared] if shared else []):
        clock = core.get("Dclock", "")
        yield PackProcessor(
            name=core.get("Pname"),
            core=core.get("Dcore", "?"),
            fpu=core.get("Dfpu"),
            dsp=core.get("Ddsp"),
            mve=core.get("Dmve"),
            trustzone=core.get("Dtz"),
            clock_hz=int(clock) if clock.isdigit() and int(clock) > 0 else None,
        )


def _memories(chain: tuple[ET.Element, ...]) -> Iterator[PackMemory]:
    memories: dict[tuple[str, str | None], PackMemory] = {}
    for element in chain:
        for memory in element.iterfind("memory"):
            name = memory.get("id") or memory.get("name") or "?"
            start, size = _number(memory.get("start")), _number(memory.get("size"))
            if start is None or size is None:
                continue
            memories[name, memory.get("Pname")] = PackMemory(
                name=name,
                start_addr=start,
                size_bytes=size,
                access=_access(memory),
                default=memory.get("default") in ("1", "true"),
                startup=memory.get("startup") in ("1", "true"),
                processor=memory.get("Pname"),
                alias=memory.get("alias"),
            )
    yield from memories.values()


def _access(memory: ET.Element) -> str:
    """Return the access rights: an old id implies them; a memory without any is readable."""
    name = memory.get("id", "")
    if name:
        return "rwx" if name.startswith("IRAM") else "rx"
    return memory.get("access") or "r"


def _algorithms(chain: tuple[ET.Element, ...]) -> Iterator[Algorithm]:
    algorithms = {}
    for element in chain:
        for algorithm in element.iterfind("algorithm"):
            file = algorithm.get("name", "?").replace("\\", "/")
            algorithms[file, algorithm.get("start")] = Algorithm(
                file, _number(algorithm.get("start")), _number(algorithm.get("size"))
            )
    yield from algorithms.values()


def _npus(chain: tuple[ET.Element, ...]) -> Iterator[NpuFeature]:
    """Yield NPUs: <feature type="NPU" n="Ethos-U55" m="256MACs">, or another type's by name."""
    seen = set()
    for element in chain:
        for feature in element.iterfind("feature"):
            words = " ".join(
                filter(None, (feature.get("n"), feature.get("m"), feature.get("name")))
            )
            product = _NPU.search(words)
            if product is None:
                continue
            macs = _MACS.search(words)
            npu = NpuFeature(
                product=product[1].lower(),
                macs=int(macs[1]) if macs else None,
                processor=feature.get("Pname"),
                words=(feature.get("name") or words).strip(),
            )
            if npu not in seen:
                seen.add(npu)
                yield npu


def _number(text: str | None) -> int | None:
    try:
        return int(text, 0) if text else None
    except ValueError:
        return None
