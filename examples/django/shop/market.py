"""The marketplace inside the shop: whoever is logged in may read, and sellers may list."""

from importlib import import_module
from types import SimpleNamespace

from django.conf import settings
from django.contrib.auth import get_user
from django.db import close_old_connections
from werkzeug.exceptions import Forbidden

from marketplace import create_app
from marketplace.errors import NotAuthenticated

PATH = "/market"
PUBLIC_URL = f"http://127.0.0.1:8000{PATH}"
SELLERS = "sellers"
SessionStore = import_module(settings.SESSION_ENGINE).SessionStore


def is_seller(user):
    return user.is_superuser or user.groups.filter(name=SELLERS).exists()


def authenticate(request, scope):
    """Let in the user of Django's session cookie. ``request`` is Flask's, not Django's.

    A page of another origin cannot misuse the cookie: the service takes JSON only, for which a browser
    asks first, and Django's session cookie is SameSite=Lax.
    """
    close_old_connections()  # Django does so around its own requests; this is not one of them
    try:
        session = SessionStore(request.cookies.get(settings.SESSION_COOKIE_NAME))
        user = get_user(SimpleNamespace(session=session))
        if not user.is_authenticated:
            raise NotAuthenticated("Log in to the shop first")
        if scope == "write" and not is_seller(user):
            raise Forbidden("Only sellers may do this")
        return str(user.pk)
    finally:
        close_old_connections()


market = create_app(authenticate=authenticate, PUBLIC_URL=PUBLIC_URL)
