#!/bin/bash
# CPU time of imports and reports: a build of Dyno against an earlier one, in turn.
#
#     bench/scripts/offline_cost.sh EARLIER NEW [ROUNDS]
#
# Both import a hundred logs of sysbench (300 lines each) and one of a day (86,400 lines), and write
# the page of that day. Prints the median of the ratios new / earlier of user and system time.
set -euo pipefail
EARLIER=$1
NEW=$2
ROUNDS=${3:-5}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
export XDG_CACHE_HOME=$FOLDER DYNO_RESULTS=none

log() { # SECONDS SEED: a log whose lines and totals agree
    awk -v seconds="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        print "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"
        print "Running the test with following options:\nNumber of threads: 4"
        print "Report intermediate results every 1 second(s)"
        print "Initializing random number generator from current time\n\n"
        print "Initializing worker threads...\n\nThreads started!\n"
        for (s = 1; s <= seconds; s++) {
            tps = int(900 + 200 * rand())
            events += tps
            printf "[ %ds ] thds: 4 tps: %.2f qps: %.2f (r/w/o: %.2f/%.2f/%.2f) ", s, tps, \
                tps * 20, tps * 14, tps * 4, tps * 2
            printf "lat (ms,95%%): %.2f err/s: 0.00 reconn/s: 0.00\n", 4.5 + rand()
        }
        rate = events / seconds
        print "SQL statistics:\n    queries performed:"
        printf "        read:                            %d\n", events * 14
        printf "        write:                           %d\n", events * 4
        printf "        other:                           %d\n", events * 2
        printf "        total:                           %d\n", events * 20
        printf "    transactions:                        %d (%.2f per sec.)\n", events, rate
        printf "    queries:                             %d (%.2f per sec.)\n", \
            events * 20, rate * 20
        print "    ignored errors:                      0      (0.00 per sec.)"
        print "    reconnects:                          0      (0.00 per sec.)\n"
        printf "General statistics:\n    total time:                          %d.0002s\n", seconds
        printf "    total number of events:              %d\n\n", events
        sum = seconds * 4 * 999
        print "Latency (ms):\n         min:                                    0.91"
        printf "         avg:                                %.2f\n", sum / events
        print "         max:                                   31.32"
        print "         95th percentile:                        5.00"
        printf "         sum:                            %.2f\n\n", sum
        printf "Threads fairness:\n    events (avg/stddev):           %.4f/9.00\n", events / 4
        printf "    execution time (avg/stddev):   %.4f/0.01\n\n", seconds * 0.999
    }'
}

for n in $(seq 100); do log 300 "$n" >"$FOLDER/log-$n.txt"; done
log 86400 0 >"$FOLDER/day.txt"

cpu() { # COMMAND…: its CPU time in seconds
    local TIMEFORMAT='%U %S'
    { time "$@" >"$FOLDER/out" 2>&1; } 2>"$FOLDER/time" || { cat "$FOLDER/out" >&2; return 1; }
    awk '{ print $1 + $2 }' "$FOLDER/time"
}

one() { # NAME BINARY
    local results=$FOLDER/$1.db
    rm -f "$results" "$FOLDER/$1.html"
    cpu "$2" import --results "$results" sysbench "$FOLDER"/log-*.txt >"$FOLDER/$1.logs"
    rm -f "$results"
    cpu "$2" import --results "$results" sysbench "$FOLDER/day.txt" >"$FOLDER/$1.day"
    cpu "$2" report 1 --results "$results" -o "$FOLDER/$1.html" >"$FOLDER/$1.report"
}

for round in $(seq "$ROUNDS"); do
    one earlier "$EARLIER"
    one new "$NEW"
    for what in logs day report; do
        new=$(<"$FOLDER/new.$what") earlier=$(<"$FOLDER/earlier.$what")
        awk -v new="$new" -v earlier="$earlier" -v what=$what 'BEGIN {
            printf "%s %.3f %.2f %.2f\n", what, new / earlier, earlier, new
        }'
    done
done | sort -k1,1 -k2,2n >"$FOLDER/ratios"
for what in logs day report; do
    awk -v what=$what '$1 == what { ratio[++n] = $2; earlier += $3; new += $4 } END {
        printf "%-7s ratio %.2f (%.2f to %.2f); %.2f s, earlier %.2f s on average\n", what, \
            ratio[int((n + 1) / 2)], ratio[1], ratio[n], new / n, earlier / n
    }' "$FOLDER/ratios"
done
