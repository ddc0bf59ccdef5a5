"""The command that runs what others compiled: what it reads, counts and refuses."""

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import evidence
from bench.evidence_streams import c_arrays
from tests.support.networks import NetworkBuilder

REPOSITORY = "someone/something"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> tuple[evidence.Clones, str]:
    """A clone with a network, what Vela makes of it, an input, and an output that is wrong."""
    folder = tmp_path_factory.mktemp("clones")
    tree = folder / REPOSITORY.replace("/", "+")
    tree.mkdir()
    net = NetworkBuilder("net", 1)
    (tree / "net.tflite").write_bytes(net.build(net.conv2d(net.input((1, 4, 4, 3)), 5)))
    for form in ("raw", "tflite"):
        vela = [Path(sys.executable).with_name("vela"), "net.tflite", "--output-dir", "."]
        options = ["--accelerator-config", "ethos-u85-256", "--output-format", form]
        subprocess.run([*vela, *options], cwd=tree, check=True, capture_output=True)
    listed = ",".join(f"0x{byte:02x}" for byte in (tree / "net_vela.tflite").read_bytes())
    (tree / "net.cc").write_text(f"int x[] = {{1}}; const char net[] = {{{listed}}};")
    (tree / "in.h").write_text(f"char in[] = {{{','.join(['0x11'] * 48)}}};")
    (tree / "out.txt").write_text("\n".join(["-1"] * 80))
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "x")
    return evidence.Clones(folder), git(tree, "rev-parse", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["net_vela.npz", "net_vela.tflite", "net.cc"])
def test_a_file_equals_its_original_and_its_twin(
    clones: tuple[evidence.Clones, str], name: str
) -> None:
    read, commit = clones
    find = evidence.Find(
        REPOSITORY, f"{commit}:{name}", "x", f"{commit}:net.tflite", f"{commit}:net_vela.tflite"
    )
    result = evidence.measure(find, read)
    assert result.npu == "ethos-u85-256"
    assert result.counts == {"original": (240, 0), "twin": (240, 0)}


@pytest.mark.slow
def test_other_outputs_than_the_authors_are_counted(clones: tuple[evidence.Clones, str]) -> None:
    read, commit = clones
    find = evidence.Find(
        REPOSITORY, f"{commit}:net.cc", "x",
        inputs=[f"{commit}:in.h"], golden=[f"{REPOSITORY}@{commit}:out.txt"],
    )  # fmt: skip
    elements, differ = evidence.measure(find, read).counts["authors"]
    assert elements == 80 and differ > 0
    missing = evidence.measure(replace(find, place=f"{commit}:none.cc"), read)
    assert missing.failure and not missing.counts


def test_values_are_read_from_text_arrays_and_c() -> None:
    assert evidence.values(b"-1\n2\n", "a:b.txt").tolist() == [255, 2]
    assert evidence.values(b"char x[] = {0x01, 0xfe};", "a:b.h").tolist() == [1, 254]
    file = io.BytesIO()
    np.save(file, np.array([3, -3], np.int8))
    assert evidence.values(file.getvalue(), "a:b.npy").tolist() == [3, -3]
    assert list(c_arrays(b"int a[] = {1, 2}; char b[] = {0x0a};")) == [b"\n"]


def test_the_page_has_a_line_for_every_file_of_the_table() -> None:
    table = evidence.finds(evidence.TABLE.read_text())
    page = evidence.PAGE.read_text()
    assert len(table) > 50
    for find in table:
        commit, _, path = find.place.partition(":")
        assert f"| `{path}` | {commit} | ethos-u" in page
        assert find.original or find.golden or find.twin
