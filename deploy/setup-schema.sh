#!/bin/sh
# Creates Temporal's two databases, or brings them to the version of this tool. Runs to its end on every start and changes nothing when there
# is nothing to do. The connection is in SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD, which temporal-sql-tool reads itself.
set -eu

setup() {
  temporal-sql-tool --database "$1" create
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "postgresql/v12/$2"
}

setup temporal temporal
setup temporal_visibility visibility
