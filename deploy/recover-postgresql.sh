#!/bin/sh
# Point-in-time recovery: dumps the database market as it was at a moment. docs/postgresql.md has the archive.
# Run it as postgres, on any machine that has the archive, PostgreSQL of its version, and room beside the dump:
#
#   deploy/recover-postgresql.sh /srv/archive/base-2026-11-15 '2026-11-21 11:59:00+00' market.dump
set -eu
base=$(realpath "$1") moment=$2 dump=$(realpath "$3")
archive=$(dirname "$base")
PATH=/usr/lib/postgresql/$(cat "$base/PG_VERSION")/bin:$PATH
socket=$(mktemp -d)
copy=$(mktemp -d "$dump.XXXXXX")
trap 'pg_ctl --pgdata="$copy" --mode=immediate stop > "$socket/stop" 2>&1 || true; rm -rf "$copy" "$socket"' EXIT

cp -a "$base/." "$copy"
rm -f "$copy/standby.signal"
touch "$copy/recovery.signal"
cat >> "$copy/postgresql.auto.conf" <<EOF
restore_command = 'cp "$archive/%f" "%p"'
recovery_target_time = '$moment'
recovery_target_action = 'promote'
hot_standby = off    # or it would answer before it reaches the moment
archive_mode = off
synchronous_standby_names = ''
listen_addresses = ''
unix_socket_directories = '$socket'
port = 5432
EOF
pg_ctl --pgdata="$copy" --log="$copy/recovery.log" start > "$socket/start" || true
until pg_isready --quiet --host="$socket" --port=5432; do
    if ! pg_ctl --pgdata="$copy" status > "$socket/status"; then
        cat "$copy/recovery.log" >&2
        exit 1
    fi
    sleep 0.2
done
pg_dump --format=custom --file="$dump" --host="$socket" --port=5432 market
