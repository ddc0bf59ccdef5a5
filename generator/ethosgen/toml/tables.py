"""The base of the models of users' files."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of a file: unknown fields are errors, and "56" is not a number."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
