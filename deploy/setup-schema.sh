#!/bin/sh
# Creates Temporal's two databases, or updates them to the version of this tool. Runs on every start; changes nothing if they are up to date.
# temporal-sql-tool reads the connection from SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
set -eu

setup() {
  temporal-sql-tool --database "$1" create
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "postgresql/v12/$2"
}

setup temporal temporal
setup temporal_visibility visibility
