"""The console's pages: each is one operator's alone, so that no cache keeps it.

The shop's own pages are the same for everybody: they know nothing of a session.
"""

import re
from collections.abc import Sequence
from typing import Any

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    g,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue

from marketplace import storefront
from marketplace.api.limits import WRITES, hold, rate_limits
from marketplace.console import sign_in as sessions
from marketplace.errors import BadRequest, Forbidden, MarketplaceError, MediaUnreachable
from marketplace.hedera import times
from marketplace.market import moderation
from marketplace.market.moderation import Ruling, Subject
from marketplace.services import read
from marketplace.store import decisions
from marketplace.store.decisions import DecisionRow
from marketplace.storefront import calls

COOKIE = "console"
DECISIONS = 100  # the newest
# What can be decided about what has a page: each decision, and what undoes it.
ACTS = {
    "nft": {"hidden": ("hide", "show")},
    "collection": {"hidden": ("hide", "show"), "verified": ("verify", "unverify")},
    "account": {"blocked": ("block", "unblock")},
}
# The path of a page of the shop, which is that of a page here, too.
find_page = re.compile(r"nft/[0-9.]+/[0-9]+|(collection|account)/[0-9.]+", re.ASCII).search

blp = Blueprint("console", __name__, url_prefix="/console")


@blp.before_request
def require_operator() -> ResponseReturnValue | None:
    """Show others how to sign in, and take forms of our own pages alone."""
    g.operator = sessions.find_operator(request.cookies.get(COOKIE, ""))
    sender = request.headers.get("Origin", "").partition("://")[2]
    if request.method == "POST" and not (sender and sender == request.host):
        raise Forbidden("Another page has sent this form")
    if g.operator or request.endpoint == "console.sign_in":
        return None
    return show_sign_in(), Forbidden.status


@blp.after_request
def complete(response: Response) -> Response:
    """The headers of a page. With a referrer, browsers also send the origin of its forms."""
    storefront.complete(response)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


@blp.errorhandler(MarketplaceError)
def show_problem(error: MarketplaceError) -> ResponseReturnValue:
    name = "console" if g.get("operator") else "console_sign_in"
    return (
        render_template(f"storefront/{name}.html", problem=error.message),
        error.status,
        error.headers,
    )


def show_sign_in() -> str:
    """Ask for the account, then for its wallet's signature."""
    challenge = None
    if account := request.args.get("account", "").strip():
        challenge = _count_failed(sessions.make_challenge, account)
    return render_template("storefront/console_sign_in.html", challenge=challenge)


@blp.get("/sign-in")
@blp.get("/sign-out")
def begin_again() -> ResponseReturnValue:
    """Where a browser asks again for the address that a form was sent to."""
    return redirect(url_for("console.show_overview"))


@blp.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    given = request.form
    rate_limits().count_write()  # it asks the ledger
    with hold(WRITES):
        token = _count_failed(
            sessions.sign_in, given.get("challenge", ""), given.get("signature", "")
        )
    home, page = url_for("console.show_overview"), find_page(given.get("to", ""))
    response = make_response(redirect(f"{home}/{page[0]}" if page else home, 303))
    is_secure = current_app.config["PUBLIC_URL"].startswith("https:")
    response.set_cookie(
        COOKIE,
        token,
        max_age=times.HOUR // times.SECOND,
        path=home,
        secure=is_secure,
        httponly=True,
        samesite="Strict",
    )
    return response


def _count_failed(function: Any, *arguments: str) -> Any:
    """Call it. Each refusal counts as a failed login of the address. Raises LimitExceeded."""
    try:
        return function(*arguments)
    except Forbidden:
        rate_limits().count_failed()
        raise


@blp.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    sessions.sign_out(g.operator)
    home = url_for("console.show_overview")
    response = make_response(redirect(home, 303))
    response.delete_cookie(COOKIE, path=home)
    return response


@blp.get("")
def show_overview() -> ResponseReturnValue:
    """The newest decisions, and a way to what is decided about next."""
    if address := request.args.get("page"):
        page = find_page(address)
        if page is None:
            raise BadRequest(
                "This is not the address of an NFT's, a collection's or an account's page"
            )
        return redirect(f"{url_for('console.show_overview')}/{page[0]}")
    rows = decisions.list_newest_decisions(read(), DECISIONS)
    return render_template("storefront/console.html", decided=rows)


@blp.get("/<any(collection, account):kind>/<id>")
@blp.get("/<any(nft):kind>/<id>/<serial_no>")
def show_subject(kind: str, id: str, serial_no: str = "") -> str:
    """What is decided about an NFT, a collection or an account, and what can be."""
    subject = _read_subject(kind, id, serial_no)
    rows = decisions.list_decisions_about(read(), *subject)
    own = {row["kind"]: row for row in rows if row["serial_no"] == subject.serial_no}
    hidden = [row for row in rows if row["kind"] == "hidden"]
    path = request.path.removeprefix("/console")
    return render_template(
        "storefront/console.html",
        kind=kind,
        subject=subject,
        page=request.script_root + path,
        record=calls.get(path) if kind != "account" else None,
        own=own,
        of_collection=next((row for row in hidden if row["serial_no"] != subject.serial_no), None),
        stands=_find_standing(subject, rows),
        acts=ACTS[kind],
    )


@blp.post("/<any(collection, account):kind>/<id>")
@blp.post("/<any(nft):kind>/<id>/<serial_no>")
def decide(kind: str, id: str, serial_no: str = "") -> ResponseReturnValue:
    """Decide what the form says, as the command line does."""
    subject, given = _read_subject(kind, id, serial_no), request.form
    act, reason = given.get("act", ""), given.get("reason", "")
    decision = next((each for each, pair in ACTS[kind].items() if act in pair), None)
    if decision is None:
        raise BadRequest("There is no such decision")
    if not moderation.is_reason(reason):
        raise BadRequest(f"Say why, in 1 to {moderation.MAX_REASON} printable characters")
    undoes = act == ACTS[kind][decision][1]
    rows = decisions.list_decisions_about(read(), *subject)
    if undoes != (decision in _find_standing(subject, rows)):
        raise BadRequest("This was decided meanwhile, by somebody else: look at it again")
    ruling = Ruling(reason.strip(), "public" in given, decided_by=g.operator)
    # Before it is done, because the log alone says who undid a decision.
    current_app.logger.info("%s in the console: %s %s: %s", g.operator, act, subject, ruling.reason)
    try:
        _act(act, subject, ruling)
    except MediaUnreachable:  # it is decided; the watcher removes the images
        current_app.logger.warning("The images of %s are removed later", subject)
    return redirect(request.script_root + request.path, 303)


def _find_standing(subject: Subject, rows: Sequence[DecisionRow]) -> set[str]:
    """The kinds of decisions that stand about exactly this. A suspended verification can be decided again."""
    standing: set[str] = {row["kind"] for row in rows if row["serial_no"] == subject.serial_no}
    if subject.id in {row["token"] for row in decisions.list_suspended(read())}:
        standing.discard("verified")
    return standing


def _read_subject(kind: str, id: str, serial_no: str) -> Subject:
    subject = Subject.parse(f"{id}:{serial_no}" if kind == "nft" else id)
    if subject is None or bool(subject.serial_no) != (kind == "nft"):
        abort(404)
    return subject


def _act(act: str, subject: Subject, ruling: Ruling) -> None:
    match act:
        case "hide":
            moderation.hide(subject, ruling)
        case "show":
            moderation.unhide(subject)
        case "block":
            moderation.block(subject.id, ruling)
        case "unblock":
            moderation.unblock(subject.id)
        case "verify":
            moderation.verify(subject.id, ruling)
        case "unverify":
            moderation.unverify(subject.id)
