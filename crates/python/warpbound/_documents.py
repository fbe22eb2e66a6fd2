"""Dataclasses from the JSON documents of the command line."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


@functools.cache
def _fields(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    """Name of each field, its key in JSON, and the function that converts its value."""
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    return tuple((f.name, f.metadata.get("key", f.name), _converter(hints[f.name])) for f in fields)


def build(cls: type[T], value: dict[str, Any]) -> T:
    """Builds a dataclass from a JSON object."""
    arguments = {}
    for name, key, converter in _fields(typing.cast(Any, cls)):
        if key == _WHOLE:
            arguments[name] = value
        elif key in value:
            item = value[key]
            arguments[name] = item if converter is None or item is None else converter(item)
    return cls(**arguments)


def key(name: str, default: Any = dataclasses.MISSING) -> Any:
    """Field whose key in JSON has another name."""
    return dataclasses.field(default=default, metadata={"key": name})


def whole() -> Any:
    """Field for the JSON object itself."""
    return dataclasses.field(default_factory=dict, repr=False, compare=False, metadata={"key": _WHOLE})


_WHOLE = "*"


@functools.cache
def _converter(hint: Any) -> Callable[[Any], Any] | None:
    """Returns a function that converts a JSON value to a type, or `None` if it stays as it is."""
    if dataclasses.is_dataclass(hint):
        return functools.partial(build, typing.cast(Any, hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        inner = _converter(arguments[0])
        return tuple if inner is None else functools.partial(_tuple, inner)
    if origin in (typing.Union, types.UnionType):
        # No value is `None`, which needs no conversion.
        return _converter(next(argument for argument in arguments if argument is not type(None)))
    return None


def _tuple(convert: Callable[[Any], Any], items: list[Any]) -> tuple[Any, ...]:
    return tuple(None if item is None else convert(item) for item in items)
