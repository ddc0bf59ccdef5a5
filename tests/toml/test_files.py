"""Files of tables: what is read, and one sentence for each kind of bad file."""

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ethosgen.toml.files import load_toml, schema_text
from ethosgen.values.errors import InputError


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern="^[a-z]+$")]
    size_mm: Annotated[int, Field(gt=0)] = 1
    spokes: Annotated[list[int], Field(min_length=2)] = [1, 2]
    load: Annotated[int, Field(lt=480)] | list[Annotated[int, Field(lt=480)]] = 0

    @model_validator(mode="after")
    def _is_round(self) -> "Wheel":
        if self.size_mm == 13:
            raise ValueError("size_mm: nobody rides on 13; choose another")
        return self


class Cart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    wheels: list[Wheel]

    @model_validator(mode="after")
    def _rolls(self) -> "Cart":
        if len(self.wheels) == 1:
            raise ValueError("wheels[0].name: one wheel does not make a cart")
        return self


GOOD = """\
[[wheels]]
name = "left"
size_mm = 300
[[wheels]]
name = "right"
"""


def written(folder: Path, content: bytes) -> Path:
    path = folder / "cart.toml"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_is_read_with_and_without_a_mark_of_its_encoding(
    tmp_path: Path, mark: bytes
) -> None:
    cart = load_toml(written(tmp_path, mark + GOOD.encode()), "cart file", Cart)
    assert [wheel.name for wheel in cart.wheels] == ["left", "right"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("size_mm", "size_m", "line 3: wheels[0].size_m ('left'): there is no such field (did you"),
        ('name = "right"', "", "line 4: wheels[1].name: it is missing; add it"),
        ("300", "0", "line 3: wheels[0].size_mm ('left'): it must be greater than 0, but is 0"),
        ("300", '"3"', "('left'): it must be a whole number, but is \"3\""),
        ("300", "13", "line 3: wheels[0].size_mm ('left'): nobody rides on 13; choose another"),
        ('"left"', '"L"', "line 2: wheels[0].name: it must match pattern '^[a-z]+$', but is \"L\""),
        ('"left"', '"' + "L" * 99 + '"', 'but is "' + "L" * 39 + "…"),
        ("size_mm = 300", "spokes = []", "line 3: wheels[0].spokes ('left'): it is empty; name at"),
        ("size_mm = 300", "spokes = [4]", "it must have at least 2 items, but has 1"),
        ('[[wheels]]\nname = "right"', "", "line 2: wheels[0].name: one wheel does not make a"),
        (
            "size_mm = 300",
            "load = 900",
            "line 3: wheels[0].load ('left'): it must be less than 480",
        ),
        ("size_mm = 300", "load = [1, 900]", "wheels[0].load[1] ('left'): it must be less than 4"),
        ("size_mm = 300", "load = [1, 0.5]", "load[1] ('left'): it must be a whole number, but is"),
        (
            "size_mm = 300",
            'load = "1"',
            "wheels[0].load ('left'): it must be a whole number or a list in [brackets], but",
        ),
        ("300", "", "is not TOML: Invalid value (at line 3"),
        ("300", "[" * 9999, "is not TOML"),
    ],
)
def test_a_fault_is_one_sentence_with_file_line_and_field(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert GOOD.count(old) == 1
    path = written(tmp_path, GOOD.replace(old, new).encode())
    with pytest.raises(InputError) as caught:
        load_toml(path, "cart file", Cart)
    message = str(caught.value)
    assert message.startswith(f"cart file '{path}'") and said in message
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read cart file '.*none\.toml': No such file"):
        load_toml(tmp_path / "none.toml", "cart file", Cart)
    with pytest.raises(InputError, match=r"cart\.toml' is not text in UTF-8"):
        load_toml(written(tmp_path, b"\xff\xfe\x00"), "cart file", Cart)


def test_a_schema_has_the_title_and_lacks_what_the_reader_adds() -> None:
    text = schema_text(Wheel, "a wheel", own_field="name")
    assert '"title": "a wheel"' in text and '"size_mm"' in text
    assert '"name"' not in text
