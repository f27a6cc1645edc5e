"""Arguments of operators, declared as attributes of their class."""

from __future__ import annotations

import inspect
from inspect import Parameter
from typing import Any, dataclass_transform


@dataclass_transform(kw_only_default=True)
class Declared:
    """Base of classes whose annotated attributes are their arguments, all templated; one with a value is optional.

    An attribute of Airflow's operators, such as `template_fields` or `ui_color`, is not an argument.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the constructor of a class that has none, with the signature that Airflow checks."""
        super().__init_subclass__(**kwargs)
        arguments_of_base = cls.template_fields  # type: ignore[attr-defined]  # of an operator
        own = [
            name
            for name, kind in inspect.get_annotations(cls).items()
            if "ClassVar" not in str(kind)
            and (name in arguments_of_base or not hasattr(super(cls, cls), name))
        ]
        if not own or "__init__" in vars(cls):
            return

        def constructor(self: Any, **given: Any) -> None:
            values = {name: given.pop(name, getattr(cls, name, None)) for name in own}
            super(cls, self).__init__(**given)
            vars(self).update(values)

        arguments = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=vars(cls).get(name, Parameter.empty))
            for name in own
        ]
        first = Parameter("self", Parameter.POSITIONAL_ONLY)
        rest = Parameter("given", Parameter.VAR_KEYWORD)
        made: Any = constructor
        made.__signature__ = inspect.Signature([first, *arguments, rest])
        operator: Any = cls
        operator.__init__ = made
        operator.template_fields = (*operator.template_fields, *own)
