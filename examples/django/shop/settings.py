"""As little as a Django project needs to have users, and sessions for them."""

import os
from pathlib import Path

SECRET_KEY = os.environ.get("SHOP_SECRET_KEY", "an example: set SHOP_SECRET_KEY")
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"  # runserver serves the market, too
USE_TZ = True

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).with_name("templates")],
    }
]
LOGIN_REDIRECT_URL = "/"
# A file of Django's own: two SQLite libraries in one process must never share one.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path(os.environ.get("SHOP_DATABASE", "shop.db")).absolute(),
    }
}
