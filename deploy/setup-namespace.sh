#!/bin/sh
# Creates the namespace and the search attributes that Longhaul sets. Runs on every start; changes nothing if they exist already. Reads
# TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as every Temporal client does, and TEMPORAL_RETENTION.
set -eu

# The port opens a moment before the server is ready, and a new namespace takes a moment to reach all services of the server.
retry() {
  tries=0
  until output=$("$@" 2>&1); do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "$1: did not succeed within a minute at $TEMPORAL_ADDRESS: $output" >&2
      exit 1
    fi
    sleep 1
  done
  echo "$output"
}

namespace() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$TEMPORAL_RETENTION"
}

# Attributes that exist already with this type are not changed.
search_attributes() {
  temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
    --name AgentName --type Keyword \
    --name AgentStatus --type Keyword \
    --name AgentModel --type Keyword \
    --name AgentCostUsd --type Double \
    --name AgentPendingTool --type Keyword \
    --name AgentPendingGroup --type Keyword \
    --name AgentWaitingSince --type Datetime \
    --name AgentIds --type KeywordList
}

retry namespace
retry search_attributes
