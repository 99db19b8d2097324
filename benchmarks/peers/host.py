"""This service in a host that authenticates callers itself: here by access tokens."""

from config import SETTINGS
from marketplace import create_app
from marketplace.api.authentication import authenticate

app = create_app(authenticate=lambda request, scope: authenticate(request, scope), **SETTINGS)
