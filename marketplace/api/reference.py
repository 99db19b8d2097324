"""The API reference: a page about our own OpenAPI documents, served without the internet.

The page is Scalar's. Of the package that brings it only the script is taken: the page, its policy and its
colours are ours, and what it would ask of its makers' servers is turned off and forbidden.
"""

from importlib.metadata import version
from importlib.resources import files

from flask import Blueprint, Flask, Response, abort, redirect, render_template, send_file, url_for

PACKAGE = "flask-openapi-scalar"
SCRIPT = str(files("flask_openapi_scalar") / "templates/scalar/js/scalar.standalone.js")
SCRIPT_NAME = f"scalar-{version(PACKAGE)}.js"  # another one with another version: kept for good
MAX_AGE_SECONDS = 365 * 86_400
# Scalar writes style attributes, and style elements of what it is made of: no nonce covers those. Its
# scripts do without eval, once reference.js has told its parser so.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",  # in the sandbox it holds a token
}


# Below its own address: /demo/static is the demo's.
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
    """Serve the page's script"""
    if name != SCRIPT_NAME:
        abort(404)
    response = send_file(SCRIPT, max_age=MAX_AGE_SECONDS, etag=name)
    response.cache_control.immutable = True
    return response


def init_app(app: Flask, *, is_home: bool) -> None:
    """Serve the API reference; where it is the home, the service's own address leads to it.

    Where there is a demo, the page gets its pages and the sandbox's token from it.
    """
    app.register_blueprint(blp, url_prefix=app.config["API_PREFIX"] or None)
    if is_home:
        app.add_url_rule("/", "home", lambda: redirect(url_for("reference.show_reference")))
