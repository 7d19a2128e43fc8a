# SPDX-License-Identifier: Apache-2.0
"""Shapes of JSON by microversion, and the check of bodies and queries against them."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import TYPE_CHECKING, Any, NoReturn

import fastjsonschema
from oslo_utils.uuidutils import is_uuid_like

from trueup.placement.api.errors import Refused, bad_request
from trueup.placement.api.versions import NEWEST, V

if TYPE_CHECKING:
    # PERF: `trueup why` reads queries without the policies and the framework behind it, 0.2 s.
    from trueup.placement.api.http import Request

Schema = dict[str, Any]

LENGTH_MAX = 2**63 - 1
"""PARITY: a greater Content-Length is refused."""

UUID_PATTERN = "^[0-9a-fA-F-]{36}$"
CLASS_PATTERN = "^[A-Z0-9_]+$"
CUSTOM_PATTERN = "^CUSTOM_[A-Z0-9_]+$"

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
UUID: Schema = {"type": "string", "format": "uuid"}

IsUUID = Callable[[Any], bool]


def is_uuid_with_dashes(text: Any) -> bool:
    """PARITY: in a query string a UUID needs its dashes, in a body it does not."""
    if not isinstance(text, str):
        return True
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return all(text[at] == "-" for at in (8, 13, 18, 23))


@dataclass(frozen=True, slots=True)
class Field:
    """One part of a JSON object, and the microversions at which it exists.

    `until` is the last microversion with it. `name` is a regular expression when `pattern`.
    """

    name: str
    shape: Any
    since: int = 0
    until: int = NEWEST
    required: bool = False
    pattern: bool = False

    def exists_at(self, version: int) -> bool:
        """Whether this microversion has the field."""
        return self.since <= version <= self.until


class Object:
    """A JSON object; other fields are refused."""

    def __init__(self, *fields: Field, **limits: Any):
        self.fields, self.limits = fields, limits

    def at(self, version: int) -> Schema:
        """The JSON schema at microversion 1.<version>."""
        schema: Schema = {"type": "object"}
        for part in self.fields:
            if not part.exists_at(version):
                continue
            section = "patternProperties" if part.pattern else "properties"
            schema.setdefault(section, {})[part.name] = shape_at(part.shape, version)
            if part.required:
                schema.setdefault("required", []).append(part.name)
        schema |= {"additionalProperties": False, **self.limits}
        return schema


def map_of(pattern: str, shape: Any, **limits: Any) -> Object:
    """An object whose keys match `pattern` and whose values have one shape."""
    return Object(Field(pattern, shape, pattern=True), **limits)


def list_of(shape: Any, **limits: Any) -> Schema:
    """A list whose items all have one shape."""
    return {"type": "array", "items": shape, **limits}


def shape_at(shape: Any, version: int) -> Schema:
    """The JSON schema of a shape; a plain dictionary is one already, at every microversion."""
    if isinstance(shape, Object):
        return shape.at(version)
    return {
        key: shape_at(value, version) if isinstance(value, Object) else value
        for key, value in shape.items()
    }


NotRecognized = fastjsonschema.JsonSchemaValueException


class Validator:
    """A compiled schema.

    PERF: valid content is accepted by code that fastjsonschema generates, in a twentieth of
    jsonschema's time. Other content is decided, and explained, by jsonschema, which is imported
    for the first of it: beside the package rfc3987-syntax that takes a second. Compiling takes
    one to three milliseconds.
    """

    recognize: Callable[[Any], object]
    """Raises NotRecognized unless fastjsonschema accepts the content."""

    def __init__(self, schema: Schema, is_uuid: IsUUID):
        self._schema, self._is_uuid = schema, is_uuid
        self.recognize = fastjsonschema.compile(schema, formats={"uuid": is_uuid})

    def problem(self, content: Any) -> str | None:
        """The error of the content, in the words of jsonschema; None if it is valid."""
        try:
            self.recognize(content)
        except NotRecognized:
            import jsonschema

            formats = jsonschema.FormatChecker(())
            formats.checks("uuid")(self._is_uuid)
            exact = jsonschema.Draft202012Validator(self._schema, format_checker=formats)
            if error := jsonschema.exceptions.best_match(exact.iter_errors(content)):
                return str(error)
        return None


@dataclass(slots=True)
class Checked:
    """A shape, and its validators: one for each microversion requested so far."""

    shape: Any
    _validators: dict[int, Validator] = field(default_factory=dict)
    _query_validators: dict[int, Validator] = field(default_factory=dict)

    def parse(self, request: "Request") -> Any:
        """The content of a JSON body. Raises Refused if it is malformed or has another shape."""
        try:
            # A chunked body has no length; the server ends the stream.
            chunked = (
                not request.env.get("CONTENT_LENGTH") and "wsgi.input_terminated" in request.env
            )
            stream = request.stream if chunked else request.bounded_stream
            length_max = request.settings.body_length_max
            length = request.content_length or 0
            if length > LENGTH_MAX:
                raise bad_request("content-length header is too large")
            body = b"" if length > length_max else stream.read(length_max + 1)
            if max(length, len(body)) > length_max:
                raise Refused(413, f"The body may have at most {length_max} bytes.")
            content = _DECODER.decode(body.decode())
            try:
                self._validators[request.version].recognize(content)
            except (KeyError, NotRecognized):
                # The validator is not compiled yet, or the content may be invalid.
                self.check(content, request.version)
        except ValueError as error:
            raise bad_request(f"Malformed JSON: {error}") from error
        except RecursionError as error:
            raise bad_request("Malformed JSON: it is nested too deeply") from error
        return content

    def check(self, content: Any, version: V) -> None:
        """Raise Refused if the content of a body has another shape."""
        validator = self._validators.get(version)
        if validator is None:
            validator = self._compiled(self._validators, version, is_uuid_like)
        problem = validator.problem(content)
        if problem:
            raise bad_request(f"JSON does not validate: {problem}")

    def check_query(self, pairs: Sequence[tuple[str, str]], version: V) -> Mapping[str, str]:
        """The parameters of a query, the last of repeated ones. Raises Refused."""
        validator = self._query_validators.get(version)
        if validator is None:
            validator = self._compiled(self._query_validators, version, is_uuid_with_dashes)
        query = dict(pairs)
        problem = validator.problem(query)
        if problem:
            raise bad_request(f"Invalid query string parameters: {problem}")
        return query

    def _compiled(self, prepared: dict[int, Validator], version: V, is_uuid: IsUUID) -> Validator:
        validator = Validator(shape_at(self.shape, version), is_uuid)
        # Two threads may both do this, with the same result.
        prepared[int(version)] = validator
        return validator


def refuse_line_break(name: str) -> None:
    """Raise Refused if the name of a class or trait ends with a line break.

    The patterns accept it, and a header of the answer would contain it.
    """
    if name.endswith("\n"):
        raise bad_request("A name must not end with a line break.")


def _finite(text: str) -> float:
    """A float from JSON. Raises ValueError if it is too large."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant)
