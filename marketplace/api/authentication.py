"""Authentication: access tokens as bearer tokens (RFC 6750), or a host's own authenticate()."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any

from flask import Flask, Request, Response, after_this_request, current_app, request
from werkzeug.exceptions import HTTPException, Unauthorized

from marketplace.api import visitors
from marketplace.api.cache import CachedQuery, RequestCache
from marketplace.api.http import Blueprint, Decorator, View
from marketplace.api.limits import WRITES, find_address, hold, rate_limits
from marketplace.errors import (
    POSTS,
    SCOPED,
    Forbidden,
    MarketplaceError,
    NotAuthenticated,
    answered_by,
)
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.market.requests import Caller, MarketRequest
from marketplace.services import services
from marketplace.store import access_tokens
from marketplace.store.access_tokens import AccessTokenRow, hash_token
from marketplace.store.engine import Engine
from marketplace.text import quote
from marketplace.wsgi_environ import (
    END_USER,
    OF_PAGE,
    REQUEST_CACHE,
    TOKEN_NAME,
    TOKEN_RATE,
    TRUSTED,
)

Authenticate = Callable[[Request, str], bool | str]

KEY = "marketplace.authenticate"  # in the application's extensions
MISSING = (
    "The header Authorization: Bearer <token> is missing. If you sent it, a proxy or server dropped it"
    " (Apache's mod_wsgi does so without WSGIPassAuthorization On)"
)
_match_end_user = re.compile(r"[!-~]{1,64}").fullmatch


def authenticate(request: Request, scope: str) -> bool:
    """Check the bearer token. Raises NotAuthenticated (401) and Forbidden (403)."""
    header = request.headers.get("Authorization")
    if header is None:
        raise NotAuthenticated(MISSING)
    cache: RequestCache | None = request.environ.get(REQUEST_CACHE) if scope == "read" else None
    cached = cache.find_token(header) if cache else None
    found = cached or _find_valid_token(header)
    row: AccessTokenRow = found.row
    request.environ[TOKEN_NAME], request.environ[TOKEN_RATE] = row["name"], row["rate"]
    ask_again_at = 0 if cached else _note_use(row)
    if scope not in row["scopes"].split():
        raise Forbidden(
            f"This access token lacks the scope {quote(scope)}",
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )
    if cache and not cached:
        cache.store_token(header, found, ask_again_at)
    return True


def _find_valid_token(header: str) -> CachedQuery:
    """The row of a token that works, and the query that found it."""
    match = re.fullmatch(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]+) *", header)
    if not match:
        raise NotAuthenticated("The Authorization header is not of the form: Bearer <token>")
    token = match[1]
    is_visitor = current_app.config["STOREFRONT"] and token.startswith(visitors.PREFIX)
    query = visitors.get_visitor if is_visitor else access_tokens.get_access_token
    key = token if is_visitor else hash_token(token)
    # With read(), the next commit would end the response's validity.
    row = query(services().database.connection, key)
    if row is None:
        source = "ask the operator for one"
        if services().sandbox:
            source = f"the sandbox's is in the file {current_app.config['DATA_DIR']}/sandbox-token"
        raise NotAuthenticated(f"This access token is unknown: {source}", "invalid_token")
    if row["revoked_at"]:
        raise NotAuthenticated("This access token was revoked", "invalid_token")
    if row["expires_at"] and row["expires_at"] <= times.to_iso(times.now()):
        raise NotAuthenticated(f"This access token expired at {row['expires_at']}", "invalid_token")
    return CachedQuery(query, (key,), row)


def _note_use(row: AccessTokenRow) -> int:
    """Store that a token was used today, once its response has been sent. Returns when to ask again."""
    now = times.now()
    day = now // times.DAY * times.DAY
    today = times.to_iso(day)
    if (row["last_used_at"] or "") >= today:
        return day + times.DAY
    mark_used = partial(_mark_used, services().database, row["hash"], today)

    @after_this_request
    def mark_at_end(response: Response) -> Response:
        response.call_on_close(mark_used)
        return response

    return now + times.MINUTE


def _mark_used(engine: Engine, token_hash: str, today: str) -> None:
    # If the database can't be written now, a request after a minute notes it.
    with suppress(Exception), engine.write() as db:
        access_tokens.mark_access_token_used(db, token_hash, today)


def make_request(account_id: str, nft_ids: Sequence[NftId] = ()) -> MarketRequest:
    """Make the caller's request. Counts each NFT as a write, and raises LimitExceeded.

    The caller is the access token and the end user: a name, or the client's address.
    """
    if more := len(nft_ids[1:]):  # the first one was counted with the request
        rate_limits().count_write(more)
    end_user = request.environ.get(END_USER) or find_address()
    return MarketRequest(account_id, nft_ids, Caller(request.environ.get(TOKEN_NAME, ""), end_user))


def _fit(end_user: str) -> str:
    """The end user as stored: the name, or its hash if it is too long or not visible ASCII."""
    return end_user if _match_end_user(end_user) else hash_token(end_user)


def is_allowed(scope: str) -> bool:
    """Whether the request has a scope, where it needs none: for what only some callers see.

    Nobody is asked about a request without credentials, such as a health check.
    """
    if "Authorization" not in request.headers:
        return False
    try:
        _ask(scope)
    except (MarketplaceError, HTTPException):
        return False
    return True


def _ask(scope: str) -> bool | str:
    """Ask authenticate() about the request. Raises NotAuthenticated if it says no.

    Raises TypeError if it returns something else: a user's number or object would count as True, and all
    users would share one address's limits.
    """
    answer: bool | str = current_app.extensions[KEY](request, scope)
    if not answer:
        raise NotAuthenticated("You are not allowed to call this", "invalid_token")
    if not isinstance(answer, bool | str):
        raise TypeError(
            f"authenticate() returned a value of type {type(answer).__name__}: return True, False or the end"
            " user's name as a str, such as str(user.id)"
        )
    return answer


@contextmanager
def _limit_write(answer: bool | str) -> Iterator[None]:
    """Count a write, and hold one of the places for writes. Raises LimitExceeded and TryAgain.

    ``answer``: what authenticate() returned, which may be the end user's name.
    """
    request.environ[END_USER] = _fit(answer) if isinstance(answer, str) else None
    rate_limits().count_write()
    with hold(WRITES):
        yield


def require_scope(scope: str) -> Decorator:
    """Require a scope for a view. The scope write also limits the view's calls.

    The view does not get Flask's own texts of a path: it loads their values.
    """
    document = Blueprint.doc(
        security=[{"bearerToken": []}],
        responses={304: "NotModified"} if scope == "read" else {},
    )
    calls = (SCOPED, POSTS) if scope == "write" else (SCOPED,)
    refuses = Blueprint.refuses(*answered_by(*calls))

    def decorator(view: View) -> View:
        @wraps(view)
        def guarded(**texts: str) -> Any:
            is_host = scope == "read" and TRUSTED in request.environ
            try:
                answer = is_host or _ask(scope)
            except (NotAuthenticated, Unauthorized):
                if OF_PAGE not in request.environ:  # a page that a visitor opens is no login
                    rate_limits().count_failed()
                raise
            if scope != "write":
                return view()
            with _limit_write(answer):
                return view()

        return refuses(document(guarded))

    return decorator


def init_app(app: Flask, authenticate: Authenticate) -> None:
    """Have this function decide who may call."""
    app.extensions[KEY] = authenticate
