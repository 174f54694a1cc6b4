#!/bin/sh
# As the image of PostgreSQL: makes the cluster at the first start, listens beyond itself only after that, and runs as `postgres`.
set -eu
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  install -d -o postgres -g postgres -m 0700 "$PGDATA"
  as_postgres initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256
  printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  as_postgres pg_ctl -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start
  as_postgres createdb --host=/tmp --username="$POSTGRES_USER" "$POSTGRES_DB" --maintenance-db=postgres
  as_postgres pg_ctl -w stop
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups -- postgres -c 'listen_addresses=*' -c unix_socket_directories=/tmp
