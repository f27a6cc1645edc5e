"""Arguments of operators, declared as attributes of their class."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from inspect import Parameter
from typing import Any, dataclass_transform


@dataclass_transform(kw_only_default=True)
class Declared:
    """Base of classes whose annotated attributes are their arguments, all templated; one with a value is optional.

    An attribute of Airflow's operators, such as `template_fields` or `ui_color`, is not an argument. An
    argument of a base class may get another default.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the constructor of a class that has none, with the signature that Airflow checks."""
        super().__init_subclass__(**kwargs)
        templated: Sequence[str] = cls.template_fields  # type: ignore[attr-defined]  # of an operator
        own = [
            name
            for name, kind in inspect.get_annotations(cls).items()
            if "ClassVar" not in str(kind)
            and (name in templated or not hasattr(super(cls, cls), name))
        ]
        if not own or "__init__" in vars(cls):
            return

        bases = [each for each in cls.__mro__[1:] if "__init__" in vars(each)]
        inherited = {name for each in bases for name in inspect.signature(each.__init__).parameters}  # type: ignore[misc]  # of classes

        def constructor(self: Any, **given: Any) -> None:
            values = {name: given.pop(name, getattr(cls, name, None)) for name in own}
            given |= {name: values.pop(name) for name in own if name in inherited}
            super(cls, self).__init__(**given)
            vars(self).update(values)

        arguments = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=vars(cls).get(name, Parameter.empty))
            for name in own
        ]
        first = Parameter("self", Parameter.POSITIONAL_ONLY)
        rest = Parameter("kwargs", Parameter.VAR_KEYWORD)
        made: Any = constructor
        made.__signature__ = inspect.Signature([first, *arguments, rest])
        operator: Any = cls
        operator.__init__ = made
        operator.template_fields = tuple(dict.fromkeys([*templated, *own]))
