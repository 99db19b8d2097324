"""A shop whose users log in with Flask-Login. docs/embedding.md shows how to serve it."""

import os

from flask import Flask, redirect, request
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user
from werkzeug.exceptions import Forbidden
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.security import check_password_hash, generate_password_hash

from marketplace import create_app
from marketplace.errors import NotAuthenticated

PATH = "/market"
PASSWORDS = {name: generate_password_hash(f"{name} of the shop") for name in ("alice", "bob")}
SELLERS = {"alice"}
FORM = """
<form method="post" action="/login">
  <input name="name" placeholder="alice"> <input name="password" type="password"> <button>Log in</button>
</form>
"""

site = Flask(__name__)
site.secret_key = os.environ.get("SHOP_SECRET_KEY", "an example: set SHOP_SECRET_KEY")
site.config["SESSION_COOKIE_SAMESITE"] = "Lax"
logins = LoginManager(site)


class User(UserMixin):
    def __init__(self, name: str) -> None:
        self.id = name


@logins.user_loader
def load_user(name):
    return User(name) if name in PASSWORDS else None


@site.get("/")
def show_home():
    if not current_user.is_authenticated:
        return FORM
    return f'{current_user.id}: <a href="{PATH}/v1/orderbook">the market</a>, <a href="/logout">log out</a>'


@site.post("/login")
def log_in():
    user = load_user(request.form.get("name"))
    if not user or not check_password_hash(PASSWORDS[user.id], request.form.get("password", "")):
        return FORM, 401
    login_user(user)
    return redirect("/")


@site.get("/logout")
def log_out():
    logout_user()
    return redirect("/")


def authenticate(request, scope):
    """Let in who is logged in to the shop; sellers may write.

    Flask-Login knows the user in the context of the shop, which the marketplace's requests do not have. A
    page of another origin cannot misuse the cookie: it is SameSite=Lax, and the service takes JSON only,
    for which a browser asks first.
    """
    with site.request_context(request.environ):
        name = current_user.get_id()
    if name is None:
        raise NotAuthenticated("Log in to the shop first")
    if scope == "write" and name not in SELLERS:
        raise Forbidden("Only sellers may do this")
    return name


market = create_app(authenticate=authenticate, PUBLIC_URL=f"http://127.0.0.1:8000{PATH}")
site.wsgi_app = DispatcherMiddleware(site.wsgi_app, {PATH: market})
