"""The order book's statements in every other way: by price, of one collection, within bounds of the price.

Each finds the keys of a page in an index alone, and then reads so many rows: whatever is stepped over on the
way there, no row of it is read. ``low`` and ``high`` are prices in HBAR, both included; a page begins after a
position of its own order: where nothing was seen yet, one that is before all.
"""


def list_newest(db, low, high, listed_order, token, serial_no, limit, offset):
    # The index of dates holds prices, too. Written so, no planner looks for them in another and sorts all.
    sql = """
        WITH page AS (
            SELECT listed_order, token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND listing_price - :low >= 0
              AND :high - listing_price >= 0
              AND listed_order <= :listed_order
              AND (listed_order < :listed_order OR (token, serial_no) > (:token, :serial_no))
            ORDER BY listed_order DESC, token, serial_no
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY page.listed_order DESC, page.token, page.serial_no
    """
    parameters = {
        "low": low,
        "high": high,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


def list_cheapest(db, high, listing_price, token, serial_no, limit, offset):
    sql = """
        WITH page AS (
            SELECT listing_price, token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND listing_price <= :high
              AND (listing_price, token, serial_no) > (:listing_price, :token, :serial_no)
            ORDER BY listing_price, token, serial_no
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY page.listing_price, page.token, page.serial_no
    """
    parameters = {
        "high": high,
        "listing_price": listing_price,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


def list_dearest(db, low, listing_price, token, serial_no, limit, offset):
    # In two parts: where very many have one price, each page begins where the last one ended.
    sql = """
        WITH tied AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND listing_price = :listing_price
              AND (token, serial_no) > (:token, :serial_no)
            ORDER BY token, serial_no
            LIMIT :limit
        ), cheaper AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND listing_price >= :low
              AND listing_price < :listing_price
            ORDER BY listing_price DESC, token, serial_no
            LIMIT :limit OFFSET :offset
        ), page AS (
            SELECT * FROM tied UNION ALL SELECT * FROM cheaper
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY nft.listing_price DESC, nft.token, nft.serial_no
        LIMIT :limit
    """
    parameters = {
        "low": low,
        "listing_price": listing_price,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


# Of one collection: that of the position


def list_newest_in_collection(db, low, high, listed_order, token, serial_no, limit, offset):
    sql = """
        WITH page AS (
            SELECT listed_order, token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND token = :token
              AND listing_price - :low >= 0
              AND :high - listing_price >= 0
              AND listed_order <= :listed_order
              AND (listed_order < :listed_order OR serial_no > :serial_no)
            ORDER BY listed_order DESC, serial_no
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY page.listed_order DESC, page.serial_no
    """
    parameters = {
        "low": low,
        "high": high,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


def list_cheapest_in_collection(db, high, listing_price, token, serial_no, limit, offset):
    sql = """
        WITH page AS (
            SELECT listing_price, token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND token = :token
              AND listing_price <= :high
              AND (listing_price, serial_no) > (:listing_price, :serial_no)
            ORDER BY listing_price, serial_no
            LIMIT :limit OFFSET :offset
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY page.listing_price, page.serial_no
    """
    parameters = {
        "high": high,
        "listing_price": listing_price,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


def list_dearest_in_collection(db, low, listing_price, token, serial_no, limit, offset):
    sql = """
        WITH tied AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND token = :token
              AND listing_price = :listing_price
              AND serial_no > :serial_no
            ORDER BY serial_no
            LIMIT :limit
        ), cheaper AS (
            SELECT token, serial_no FROM nft
            WHERE is_for_sale = 1
              AND token = :token
              AND listing_price >= :low
              AND listing_price < :listing_price
            ORDER BY listing_price DESC, serial_no
            LIMIT :limit OFFSET :offset
        ), page AS (
            SELECT * FROM tied UNION ALL SELECT * FROM cheaper
        )
        SELECT nft.* FROM page
        JOIN nft ON nft.token = page.token AND nft.serial_no = page.serial_no
        ORDER BY nft.listing_price DESC, nft.serial_no
        LIMIT :limit
    """
    parameters = {
        "low": low,
        "listing_price": listing_price,
        "token": token,
        "serial_no": serial_no,
        "limit": limit,
        "offset": offset,
    }
    return db.execute(sql, parameters).fetchall()


def list_orderbook(db, limit):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"limit": limit}).fetchall()


def get_orderbook_position(db, offset):
    # What a page at an offset comes after: read in the index alone, where PostgreSQL would fetch whole rows.
    sql = """
        SELECT listed_order, token, serial_no FROM nft
        WHERE is_for_sale = 1
        ORDER BY listed_order DESC, token, serial_no
        LIMIT 1 OFFSET :passed
    """
    return db.execute(sql, {"passed": offset - 1}).fetchone()


def list_orderbook_after(db, limit, listed_order, token, serial_no):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
          AND listed_order <= :listed_order
          AND (listed_order < :listed_order OR (token, serial_no) > (:token, :serial_no))
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    parameters = {
        "limit": limit,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
    }
    return db.execute(sql, parameters).fetchall()


def list_listed_in_collection_after(db, token, serial_no, limit):
    # In parts: a collection may have tens of thousands listed.
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1 AND token = :token AND serial_no > :serial_no
        ORDER BY serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"token": token, "serial_no": serial_no, "limit": limit}).fetchall()


def list_listed_by_owner(db, owner, limit):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1 AND owner = :owner
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    return db.execute(sql, {"owner": owner, "limit": limit}).fetchall()


def get_position_by_owner(db, owner, offset):
    sql = """
        SELECT listed_order, token, serial_no FROM nft
        WHERE is_for_sale = 1 AND owner = :owner
        ORDER BY listed_order DESC, token, serial_no
        LIMIT 1 OFFSET :passed
    """
    return db.execute(sql, {"owner": owner, "passed": offset - 1}).fetchone()


def list_listed_by_owner_after(db, owner, limit, listed_order, token, serial_no):
    sql = """
        SELECT * FROM nft
        WHERE is_for_sale = 1
          AND owner = :owner
          AND listed_order <= :listed_order
          AND (listed_order < :listed_order OR (token, serial_no) > (:token, :serial_no))
        ORDER BY listed_order DESC, token, serial_no
        LIMIT :limit
    """
    parameters = {
        "owner": owner,
        "limit": limit,
        "listed_order": listed_order,
        "token": token,
        "serial_no": serial_no,
    }
    return db.execute(sql, parameters).fetchall()
