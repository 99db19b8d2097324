"""The API reference: a page that shows our OpenAPI documents, and needs no internet.

It uses Scalar's script from a package. The HTML, the content security policy and the colours are ours.
All requests of Scalar to its makers' servers are turned off, and the policy forbids them.
"""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from flask import Blueprint, Flask, redirect, render_template, url_for

from marketplace.assets import Assets

PACKAGE = "flask-openapi-scalar"
SCRIPT = Path(str(files("flask_openapi_scalar") / "templates/scalar/js/scalar.standalone.js"))
SCRIPT_NAME = f"scalar-{version(PACKAGE)}.js"
ASSETS = Assets([Path(__file__).parent / "static"], {SCRIPT_NAME: [SCRIPT]})
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

blp = Blueprint("reference", __name__, template_folder="templates")
ASSETS.serve_from(blp, "/reference/assets")


@blp.get("/reference")
def show_reference() -> tuple[str, dict[str, str]]:
    """Show the API reference"""
    return render_template("reference.html", script=SCRIPT_NAME), HEADERS


def init_app(app: Flask, *, is_home: bool) -> None:
    """Serve the API reference. If ``is_home``, ``/`` redirects to it.

    In the sandbox, the demo adds its pages and the sandbox's token to the page.
    """
    app.register_blueprint(blp, url_prefix=app.config["API_PREFIX"] or None)
    if is_home:
        app.add_url_rule("/", "home", lambda: redirect(url_for("reference.show_reference")))
