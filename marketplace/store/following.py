"""The statements about following the ledger: how far it was read, and what is to be looked at."""


def get_follow(db):
    return db.execute("SELECT * FROM follow").fetchone()


def mark_followed_from(db, moment, alive_at, past_at=None):
    # Following begins there: what came before is swept, and approvals are read from past_at on.
    sql = """
        INSERT INTO follow (id, began_at, cursor_at, fresh_at, alive_at, past_at)
        VALUES (1, :moment, :moment, :moment, :alive_at, :past_at)
        ON CONFLICT (id) DO UPDATE
        SET began_at = :moment, cursor_at = :moment, fresh_at = :moment, alive_at = :alive_at,
            past_at = :past_at, sweep_began_at = NULL, swept_to = ''
    """
    db.execute(sql, {"moment": moment, "alive_at": alive_at, "past_at": past_at})


def mark_past_read_to(db, past_at):
    db.execute("UPDATE follow SET past_at = :past_at WHERE id = 1", {"past_at": past_at})


def mark_followed_to(db, cursor_at, fresh_at, alive_at):
    # Neither goes back: of two watchers, the one that is behind says nothing new.
    sql = """
        UPDATE follow
        SET cursor_at = CASE WHEN cursor_at < :cursor_at THEN :cursor_at ELSE cursor_at END,
            fresh_at = CASE WHEN fresh_at < :fresh_at THEN :fresh_at ELSE fresh_at END,
            alive_at = :alive_at
        WHERE id = 1
    """
    parameters = {"cursor_at": cursor_at, "fresh_at": fresh_at, "alive_at": alive_at}
    db.execute(sql, parameters)


def mark_watcher_alive(db, alive_at):
    db.execute("UPDATE follow SET alive_at = :alive_at WHERE id = 1", {"alive_at": alive_at})


def mark_swept_to(db, sweep_began_at, swept_to):
    sql = "UPDATE follow SET sweep_began_at = :sweep_began_at, swept_to = :swept_to WHERE id = 1"
    db.execute(sql, {"sweep_began_at": sweep_began_at, "swept_to": swept_to})


# Looks


def insert_look(db, look):
    # One that waits already is due at the earlier of both times, and wants facts as new as the newer row.
    sql = """
        INSERT INTO look (kind, id, serial_no, told_at, enough_at, look_at)
        VALUES (:kind, :id, :serial_no, :told_at, :enough_at, :look_at)
        ON CONFLICT (kind, id, serial_no) DO UPDATE
        SET told_at = CASE WHEN look.told_at < :told_at THEN :told_at ELSE look.told_at END,
            enough_at = CASE WHEN look.told_at < :told_at THEN :enough_at ELSE look.enough_at END,
            look_at = CASE WHEN look.look_at < :again_at THEN look.look_at ELSE :again_at END,
            attempts = 0
    """
    db.execute(sql, look)


def list_looks_due(db, kind, now, limit):
    sql = """
        SELECT * FROM look WHERE kind = :kind AND look_at <= :now
        ORDER BY look_at
        LIMIT :limit
    """
    return db.execute(sql, {"kind": kind, "now": now, "limit": limit}).fetchall()


def get_look(db, kind, id, serial_no):
    sql = "SELECT * FROM look WHERE kind = :kind AND id = :id AND serial_no = :serial_no"
    return db.execute(sql, {"kind": kind, "id": id, "serial_no": serial_no}).fetchone()


def delete_look(db, look):
    # Not where a newer transaction has told of it meanwhile.
    sql = """
        DELETE FROM look
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND told_at = :told_at
    """
    db.execute(sql, look)


def mark_looked_at(db, look, again_at):
    sql = """
        UPDATE look SET attempts = attempts + 1, look_at = :again_at
        WHERE kind = :kind AND id = :id AND serial_no = :serial_no AND told_at = :told_at
    """
    db.execute(sql, look | {"again_at": again_at})


def count_looks(db):
    return db.execute("SELECT COUNT(*) AS n FROM look").fetchone()["n"]
