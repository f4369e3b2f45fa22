#!/usr/bin/env bash
# Median wall time of `pellucid explain`, in milliseconds, as one JSON line per model.
# usage: bench/explain.sh PELLUCID MODEL...     (runs: RUNS=21)
set -euo pipefail

program=${1:?usage: bench/explain.sh PELLUCID MODEL...}
shift
runs=${RUNS:-21}

# Nanoseconds of one run; the exit status of a refused configuration is 1 and counts as an answer.
one_run() {
  local begin end status=0
  begin=$(date +%s%N)
  "$program" explain "$1" --json >/dev/null || status=$?
  end=$(date +%s%N)
  if ((status > 1)); then
    echo "bench/explain.sh: explain $1 ended with $status" >&2
    return 1
  fi
  echo $((end - begin))
}

for model in "$@"; do
  one_run "$model" >/dev/null # warms the page cache
  for ((i = 0; i < runs; i++)); do one_run "$model"; done | sort -n | awk -v model="$model" '
    { ns[NR] = $1 }
    END {
      printf "{\"bench\":\"explain\",\"model\":\"%s\",\"runs\":%d,\"median_ms\":%.2f,\"min_ms\":%.2f,\"max_ms\":%.2f}\n",
             model, NR, ns[int((NR + 1) / 2)] / 1e6, ns[1] / 1e6, ns[NR] / 1e6
    }'
done
