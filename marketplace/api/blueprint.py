"""flask-smorest's blueprint, with our parser of requests, and with the errors that each view documents."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import flask_smorest
from flask_smorest.utils import resolve_schema_instance
from marshmallow import Schema

from marketplace.api.error_responses import REFUSALS
from marketplace.api.request_parser import RequestParser
from marketplace.errors import BODIES, PARAMETERS, QUERIES, MarketplaceError, answered_by

View = Callable[..., Any]
Decorator = Callable[[View], View]

# By the part of a request: which errors refuse it while it is read.
OF_LOCATIONS = {"path": (PARAMETERS,), "query": (PARAMETERS, QUERIES), "json": (PARAMETERS, BODIES)}


class Blueprint(flask_smorest.Blueprint):
    ARGUMENTS_PARSER = RequestParser()

    def arguments(
        self, schema: type[Schema] | Schema, *, location: str = "json", **options: Any
    ) -> Decorator:
        """Load parameters or a body, and pass each value by the name of its field: as_kwargs of webargs.

        Of a path, only these values are passed, and not also Flask's own texts.
        """
        load: Decorator = super().arguments(schema, location=location, as_kwargs=True, **options)
        refuse = self.refuses(*answered_by(*OF_LOCATIONS[location]))
        fields = resolve_schema_instance(schema).fields
        texts = {field.data_key for field in fields.values()} - fields.keys()

        def decorator(view: View) -> View:
            @wraps(view)
            def without_texts(**values: Any) -> Any:
                return view(**{name: values[name] for name in values if name not in texts})

            return load(refuse(without_texts if location == "path" else view))

        return decorator

    def register_views_in_doc(self, api: Any, *of_application: Any, **options: Any) -> None:
        """Leave it to the Api when the views are documented."""
        api.later.append(partial(super().register_views_in_doc, api, *of_application, **options))

    @staticmethod
    def refuses(*kinds: type[MarketplaceError]) -> Decorator:
        """Document errors of the view. The OpenAPI document groups them by status."""
        documented: Decorator = flask_smorest.Blueprint.doc(
            **{REFUSALS: {kind.word(): kind for kind in kinds}}
        )
        return documented
