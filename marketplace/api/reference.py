"""The API reference: a page about our own OpenAPI document, served without the internet."""

from importlib.resources import files

from flask import Blueprint, Flask, redirect, render_template, send_from_directory, url_for

from marketplace import __version__

SWAGGER_UI = files("flask_swagger_ui") / "dist"  # the page's scripts, as their package brings them

# Below its own address: /static is the application's, and /demo/static the demo's.
blp = Blueprint(
    "reference",
    __name__,
    template_folder="templates",
    static_folder="static",
    static_url_path="/reference/static",
)


@blp.get("/reference")
def show_reference():
    """Show the API reference"""
    response = render_template("reference.html", version=__version__)
    policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
    return response, {"Content-Security-Policy": policy}


@blp.get("/reference/assets/<path:name>")
def show_reference_asset(name):
    """Serve the page's scripts and styles"""
    return send_from_directory(SWAGGER_UI, name, max_age=86_400)


def init_app(app: Flask, *, is_home: bool) -> None:
    """Serve the API reference; where it is the home, the service's own address leads to it."""
    app.register_blueprint(blp, url_prefix=app.config["API_PREFIX"] or None)
    if is_home:
        app.add_url_rule("/", "home", lambda: redirect(url_for("reference.show_reference")))
