#!/bin/sh
# In place of ClickHouse's server: the project's bridge over the same engine, from the checkout.
set -eu
export GATEWAY_CLICKHOUSE_FOLDER=/var/lib/clickhouse/engine GATEWAY_CLICKHOUSE_USER="$CLICKHOUSE_USER"
export GATEWAY_CLICKHOUSE_PASSWORD="$CLICKHOUSE_PASSWORD" HOME=/var/lib/clickhouse
exec setpriv --reuid=clickhouse --regid=clickhouse --init-groups -- node /checkout/test/containers/compose/clickhouse-main.ts
