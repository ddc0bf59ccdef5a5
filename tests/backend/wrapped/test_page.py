"""docs/accelerators.md and the schema are what the generator writes."""

from ethosgen.backend import wrapped_schema
from ethosgen.backend.wrapped.declaration import Declaration
from ethosgen.backend.wrapped.site import ATTRIBUTES, known_terms
from tests.support.accelerator_page import ADVICE, PAGE, SCHEMA, with_fields


def test_the_page_is_what_the_generator_writes() -> None:
    page = PAGE.read_text()
    assert page == with_fields(page), ADVICE
    assert SCHEMA.read_text() == wrapped_schema(), ADVICE


def test_the_page_has_all_fields_and_terms() -> None:
    page = PAGE.read_text()
    for field in Declaration.model_fields.values():
        assert field.description
    for attribute in ATTRIBUTES:
        assert f"T_{attribute}" in page
    computed = known_terms(["RESHAPE"], 0) - {
        f"{tensor}_{attribute}"
        for attribute in ATTRIBUTES
        for tensor in ("input", "output", *(f"{n}put{i}" for n in ("in", "out") for i in range(9)))
    }
    left = {"has_reshape", "new_shape", "input2_shift", "output_multiplier", "input2_multiplier"}
    for term in computed - left:
        assert f"`{term}`" in page, term
