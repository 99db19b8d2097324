"""The same reads in FastAPI: a dependency that checks the token, pydantic models, the same SQL.

FastAPI's documentation recommends plain functions for blocking calls, and runs them in threads. For reads as
short as these that is slower, so these are coroutines. They return dictionaries, from which pydantic makes
the response_model: that is faster than to make the models here.
"""

import hashlib
import hmac
import os
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from sqlite_utils.utils import sqlite3

MEDIA_URL = os.environ["BENCH_MEDIA_URL"]
TOKEN_SQL = "SELECT * FROM access_token WHERE hash = :hash"
NFT_SQL = "SELECT * FROM nft WHERE token = :token AND serial_no = :serial_no"
ORDERBOOK_SQL = """
    SELECT * FROM nft
    WHERE is_listed = 1
    ORDER BY listed_order DESC, token, serial_no
    LIMIT :limit + 0 OFFSET :offset
"""

app = FastAPI()
bearer = HTTPBearer(auto_error=False)
db = sqlite3.connect(os.environ["BENCH_DATABASE"], isolation_level=None, check_same_thread=False)
db.row_factory = sqlite3.Row


class Owner(BaseModel):
    accountId: str


class Nft(BaseModel):
    token: str
    serialNo: int
    name: str
    fileType: str
    isForSale: bool
    stringifiedAttributes: str | None
    imageUrl: str
    originalImageUrl: str | None
    listingPrice: int
    lastListedDate: str | None
    owner: Owner


def to_nft(row: sqlite3.Row) -> dict:
    listed_at = row["last_listed_at"]
    return {
        "token": row["token"],
        "serialNo": row["serial_no"],
        "name": row["name"],
        "fileType": row["file_type"],
        "isForSale": row["is_for_sale"],
        "stringifiedAttributes": row["attributes"],
        "imageUrl": f"{MEDIA_URL}/{row['image'] or 'placeholder.webp'}",
        "originalImageUrl": row["original_image_url"],
        "listingPrice": row["listing_price"],
        "lastListedDate": listed_at and f"{listed_at[:23]}Z",
        "owner": {"accountId": row["owner"]},
    }


async def require_read(
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    if credentials is None:
        raise HTTPException(401, "A bearer token is needed", {"WWW-Authenticate": "Bearer"})
    digest = hashlib.sha256(credentials.credentials.encode()).hexdigest()
    row = db.execute(TOKEN_SQL, {"hash": digest}).fetchone()
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"
    if (
        row is None
        or not hmac.compare_digest(row["hash"], digest)
        or row["revoked_at"]
        or (row["expires_at"] and row["expires_at"] <= now)
    ):
        raise HTTPException(401, "This token is not valid", {"WWW-Authenticate": "Bearer"})
    if "read" not in row["scopes"].split():
        raise HTTPException(403, "This token may not read")


@app.get("/v1/orderbook", dependencies=[Depends(require_read)], response_model=list[Nft])
async def list_orderbook(
    request: Request,
    response: Response,
    limit: Annotated[int, Query(ge=1, le=20)] = 20,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> list[dict]:
    rows = db.execute(ORDERBOOK_SQL, {"limit": limit + 1, "offset": offset}).fetchall()
    if len(rows) > limit:
        following = f"{request.url.path}?limit={limit}&offset={offset + limit}"
        response.headers["Link"] = f'<{following}>; rel="next"'
    return [to_nft(row) for row in rows[:limit]]


@app.get("/v1/nft/{token}/{serial_no}", dependencies=[Depends(require_read)], response_model=Nft)
async def get_nft(
    token: Annotated[str, Path(pattern=r"^\d+\.\d+\.\d+$")], serial_no: Annotated[int, Path(ge=1)]
) -> dict:
    row = db.execute(NFT_SQL, {"token": token, "serial_no": serial_no}).fetchone()
    if row is None:
        raise HTTPException(404, f"{token} #{serial_no} is not stored")
    return to_nft(row)
