"""One WSGI application: the marketplace under /market, and Django for all the rest."""

import os

from django.core.wsgi import get_wsgi_application
from werkzeug.middleware.dispatcher import DispatcherMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
shop = get_wsgi_application()  # before the market, which asks for Django's settings

from shop.market import PATH, market  # noqa: E402

application = DispatcherMiddleware(shop, {PATH: market})
