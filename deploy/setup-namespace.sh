#!/bin/sh
# Creates the namespace and the search attributes that Longhaul fills. Runs to its end on every start and changes nothing when there is nothing
# to do. Reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE, as every Temporal client does, and TEMPORAL_RETENTION.
set -eu

# The port answers a moment before the server does, and a new namespace takes a moment until all of the server knows it.
retry() {
  tries=0
  until output=$("$@" 2>&1); do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "$1: it did not work within a minute at $TEMPORAL_ADDRESS: $output" >&2
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

# Those that exist already with this type are left as they are.
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
