"""The API reference: a page that shows our OpenAPI documents, and needs no internet.

It uses Scalar's script from a package. The HTML, the content security policy and the colours are ours.
All requests of Scalar to its makers' servers are turned off, and the policy forbids them.
"""

from importlib.metadata import version
from importlib.resources import files

from flask import Blueprint, Flask, Response, abort, redirect, render_template, send_file, url_for

PACKAGE = "flask-openapi-scalar"
SCRIPT = str(files("flask_openapi_scalar") / "templates/scalar/js/scalar.standalone.js")
SCRIPT_NAME = f"scalar-{version(PACKAGE)}.js"  # new for each version: cached for ever
MAX_AGE_SECONDS = 365 * 86_400
# Scalar adds style attributes and style elements of its components, which no nonce can cover. Its scripts
# need no eval, because reference.js turns that off in its parser.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",  # in the sandbox the page has a token
}


# Its static files are below its own path, beside the demo's /demo/static.
blp = Blueprint(
    "reference",
    __name__,
    template_folder="templates",
    static_folder="static",
    static_url_path="/reference/static",
)


@blp.get("/reference")
def show_reference() -> tuple[str, dict[str, str]]:
    """Show the API reference"""
    return render_template("reference.html", script=SCRIPT_NAME), HEADERS


@blp.get("/reference/assets/<name>")
def show_reference_asset(name: str) -> Response:
    """Serve the script of the API reference"""
    if name != SCRIPT_NAME:
        abort(404)
    response = send_file(SCRIPT, max_age=MAX_AGE_SECONDS, etag=name)
    response.cache_control.immutable = True
    return response


def init_app(app: Flask, *, is_home: bool) -> None:
    """Serve the API reference. If ``is_home``, ``/`` redirects to it.

    In the sandbox, the demo adds its pages and the sandbox's token to the page.
    """
    app.register_blueprint(blp, url_prefix=app.config["API_PREFIX"] or None)
    if is_home:
        app.add_url_rule("/", "home", lambda: redirect(url_for("reference.show_reference")))
