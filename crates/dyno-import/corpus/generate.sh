#!/bin/bash
# generate.sh FOLDER: fetch the tools into FOLDER, run them and write logs/ and manifest.tsv here.
# Needs root, Debian 12 with postgresql-15, sysbench, fio, sysstat, procps and pip, and 3 GB.
# Takes about eight minutes. Nothing is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}
out=$work/logs
server=/usr/lib/postgresql/15/bin
rm -rf "$out" && mkdir -p "$out"
: > "$work/manifest"

# tree SUITE PACKAGE…: unpack packages of a Debian release, with all they depend on.
tree() {
    local suite=$1 base=$work/$1
    shift
    [ -e "$base/done" ] && return
    mkdir -p "$base"/{lists/partial,cache/archives/partial,state,tree}
    : > "$base/state/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        > "$base/sources.list"
    local apt=(apt-get -q -o "Dir::Etc::SourceList=$base/sources.list"
        -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State=$base/state" -o "Dir::State::Lists=$base/lists"
        -o "Dir::State::status=$base/state/status" -o "Dir::Cache=$base/cache"
        -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
        -o APT::Install-Recommends=false -o APT::Sandbox::User=root)
    "${apt[@]}" update
    "${apt[@]}" install -y --download-only bash coreutils fio sysstat procps locales-all "$@"
    for package in "$base"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$base/tree"
    done
    for link in bin sbin lib lib64; do
        [ -e "$base/tree/$link" ] || ln -s "usr/$link" "$base/tree/$link"
    done
    mkdir -p "$base/tree"/{proc,sys,dev,tmp}
    rm -rf "$base/cache" "$base/lists"
    touch "$base/done"
}

# inside SUITE COMMAND…: run a program of a tree, in its /tmp, on a host called `host`.
inside() {
    local root=$work/$1/tree
    shift
    if [ ! -e "$root/usr" ]; then
        (cd "$root/tmp" && exec unshare --uts sh -c 'hostname host; exec "$@"' sh "$@")
        return
    fi
    unshare --mount --uts sh -c '
        root=$0
        hostname host
        for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
        exec chroot "$root" bash -c "cd /tmp && exec \"\$@\"" sh "$@"' "$root" "$@"
}

# log FILE VERSION ENVIRONMENT COMMAND…: run it in the current tree and keep what it prints. The
# kernel's name is replaced. The manifest has the second in which the command began.
log() {
    local file=$1 version=$2 environment=$3 began
    shift 3
    mkdir -p "$(dirname "$out/$file")"
    began=$(date +%s)
    # shellcheck disable=SC2086
    inside "$suite" env TZ=UTC LC_ALL=C $environment "$@" 2>&1 \
        | sed -E -e 's/^Linux [^ ]+ /Linux 6.1.0 /' -e 's/("release": ")[^"]*/\16.1.0/' \
        > "$out/$file" || true
    noted "$file" "$version" "$began" "${environment:+$environment }$(basename "$1") ${*:2}"
}

noted() { # FILE VERSION BEGAN COMMAND
    printf '%s\t%s\t%s\t%s\n' "$@" >> "$work/manifest"
}

pgbench_logs() { # VERSION PROGRAM
    local version=$1 program=$2 d=pgbench/$1 place=$work/$suite/tree/tmp detailed=() each
    [ "$version" -ge 15 ] && detailed=(--failures-detailed --max-tries=3)
    echo 'select 1;' > "$place/select.sql"
    echo 'begin isolation level serializable; select sum(bbalance) from pgbench_branches;
update pgbench_branches set bbalance = bbalance + 1; commit;' > "$place/conflict.sql"
    report() { # NAME OPTION…
        log "$d-$1.out" "$version" "" "$program" -n "${@:2}"
    }
    report progress -S -c 2 -T 3 -P 1
    report rate -N -c 2 -j 2 -T 3 -P 1 -R 60 -L 20
    report scripts -c 2 -t 150 -b select-only@2 -b simple-update@1 -r
    report connect -S -c 2 -T 2 -C
    report prepared -S -M prepared -t 400
    report timestamps -S -c 1 -T 3 -P 1 --progress-timestamp
    report conflicts -c 4 -j 2 -T 3 -P 1 -r "${detailed[@]}" -f conflict.sql
    report rated-conflicts -c 4 -T 3 -P 1 -R 200 -L 5 "${detailed[@]}" -f conflict.sql \
        -f select.sql
    for each in "each -t 60 -c 2" "sampled -t 400 -c 2 --sampling-rate=0.2" \
        "sums -T 4 -c 2 --aggregate-interval=1" "limited -T 3 -c 2 -R 50 -L 3" \
        "rated-sums -T 4 -c 2 -R 60 -L 3 --aggregate-interval=1"; do
        # shellcheck disable=SC2086
        report ${each%% *} -N -l --log-prefix=log ${each#* }
        mv "$place"/log.* "$out/$d-${each%% *}.log"
        noted "$d-${each%% *}.log" "$version" 0 "the log of transactions of the run above"
    done
}

fio_logs() { # VERSION
    local version=$1 d=fio/$1
    local base=(fio --name=job --filename=corpus.fio --size=8m --ioengine=psync)
    local json=("${base[@]}" --output-format=json --time_based)
    report() { # NAME COMMAND…
        log "$d-$1.out" "$version" "" "${@:2}"
    }
    report mixed "${json[@]}" --rw=randrw --bs=4k --runtime=2 --rate_iops=400
    report jobs "${json[@]}" --rw=randread --numjobs=2 --runtime=2
    report group "${json[@]}" --rw=randread --numjobs=3 --group_reporting --runtime=2
    report plus "${base[@]}" --output-format=json+ --rw=randwrite --fsync=16 --number_ios=80
    report status "${json[@]}" --rw=read --bs=64k --runtime=3 --status-interval=1
    report unified "${json[@]}" --rw=randrw --unified_rw_reporting=1 --runtime=1
    # Version 3.25 refuses it.
    [ "$version" = 3.25 ] || report both "${json[@]}" --rw=randrw --unified_rw_reporting=both \
        --runtime=1
    report lat "${json[@]}" --rw=randread --clat_percentiles=0 --lat_percentiles=1 --runtime=1
    report list "${json[@]}" --rw=randread --percentile_list=50:90:99.9 --runtime=1
    report async "${json[@]}" --ioengine=libaio --direct=1 --iodepth=8 --rw=randread --runtime=2
    report groups "${json[@]}" --rw=write --runtime=1 --name=next --filename=corpus.fio --size=8m \
        --stonewall --rw=read --bs=16k --runtime=1 --time_based
    report steady "${json[@]}" --rw=randread --runtime=6 --ss=iops:0.001% --ss_dur=2
    report terse "${base[@]}" --output-format=terse --rw=randread --runtime=1 --time_based
    report normal "${base[@]}" --rw=randread --runtime=1 --time_based
    printf '[%s]\nrw=%s\nsize=4m\nfilename=%s.fio\nruntime=2\ntime_based\n' \
        one randread one two randwrite two > "$work/$suite/tree/tmp/jobs.fio"
    inside "$suite" fio --server=127.0.0.1,8766 --daemonize=server.pid
    sleep 1
    report client fio --output-format=json --client=127.0.0.1,8766 jobs.fio
    kill "$(cat "$work/$suite/tree/tmp/server.pid")"
}

sysbench_logs() {
    local place=$work/$suite/tree/tmp
    local pg=(--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port="$PGPORT"
        --pgsql-user=postgres --pgsql-db=postgres --tables=2 --table-size=1000)
    report() { # NAME OPTION…
        log "sysbench/1.0.20-$1.out" 1.0.20 "" sysbench "${@:2}"
    }
    sysbench oltp_read_write "${pg[@]}" prepare > /dev/null
    report read-write oltp_read_write "${pg[@]}" --threads=2 --time=4 --report-interval=1 run
    report point-select oltp_point_select "${pg[@]}" --threads=4 --time=3 --report-interval=1 \
        --percentile=99 run
    report write-only oltp_write_only "${pg[@]}" --threads=4 --events=300 --time=0 \
        --percentile=50 run
    report rate oltp_read_only "${pg[@]}" --threads=2 --time=4 --rate=50 --report-interval=1 run
    report checkpoints oltp_point_select "${pg[@]}" --threads=2 --time=4 \
        --report-checkpoints=1,3 run
    report histogram oltp_read_only "${pg[@]}" --threads=2 --time=2 --histogram run
    report no-percentile oltp_read_only "${pg[@]}" --threads=2 --time=2 --percentile=0 run
    report debug oltp_insert "${pg[@]}" --threads=1 --time=1 --verbosity=4 run
    report cpu cpu --threads=2 --time=2 --report-interval=1 run
    report memory memory --threads=2 --time=2 --memory-total-size=500G --report-interval=1 run
    report threads threads --threads=4 --time=2 run
    report mutex mutex --threads=2 --mutex-num=64 --mutex-locks=2000 run
    local files=(--file-total-size=16M --file-num=4)
    (cd "$place" && sysbench fileio "${files[@]}" prepare > /dev/null)
    report fileio fileio "${files[@]}" --file-test-mode=rndrw --threads=2 --time=2 \
        --report-interval=1 run
}

monitor_logs() { # PROCPS [SYSSTAT]: all at the same time, while the disk is busy
    local procps=$1 sysstat=${2:-} each locale
    fio --name=load --filename="$work/load.fio" --size=16m --rw=randrw --fsync=8 --rate_iops=300 \
        --runtime=14 --time_based > /dev/null 2>&1 &
    for each in "plain 1 4" "times -t 1 4" "wide -w -t 1 3" "active -a 1 3" "m -S m 1 3" \
        "k -S k 1 3" "M -S M 1 3" "no-first -y 1 3" "no-first-times -y -t 1 3" "once -n 1 3"; do
        # procps 3.3.17 has no -y.
        [[ $procps = 3.3.17 && $each = no-first* ]] && continue
        # shellcheck disable=SC2086
        log "vmstat/$procps-${each%% *}.out" "$procps" "" vmstat ${each#* } &
    done
    for each in "x -x 1 3" "xt -xt 1 3" "xk -xkt 1 3" "xm -xmt 1 3" "d -d 1 3" "dm -dmt 1 3" \
        "c -c 1 3" "xz -xz 1 3" "xy -xy 1 3" "dy -dy 1 3" "xyt -xyt 1 3" "short -xs 1 3" \
        "human -x --human 1 3" "pretty -x --pretty 1 3" "json -x -o JSON 1 3" "p -x -p vda 1 2"; do
        # shellcheck disable=SC2086
        [ -z "$sysstat" ] || log "iostat/$sysstat-${each%% *}.out" "$sysstat" "" iostat ${each#* } &
    done
    if [ -n "$sysstat" ]; then
        log "mpstat/$sysstat-all.out" "$sysstat" "" mpstat 1 3 &
        log "mpstat/$sysstat-cpus.out" "$sysstat" "" mpstat -P ALL 1 2 &
        log "mpstat/$sysstat-json.out" "$sysstat" "" mpstat -o JSON 1 3 &
        log "sar/$sysstat-many.out" "$sysstat" "" sar -u -d -q -r -b -w -W -n DEV 1 3 &
        log "sar/$sysstat-ALL.out" "$sysstat" "" sar -u ALL -p -d 1 3 &
        log "sar/$sysstat-iso.out" "$sysstat" "S_TIME_FORMAT=ISO LC_ALL=de_DE.UTF-8" sar -u 1 2 &
    fi
    # Debian 12 has no locales; the other releases' trees have all.
    for locale in en_US de_DE fr_FR zh_CN ja_JP ko_KR ar_EG fa_IR hi_IN th_TH; do
        [ -n "$sysstat" ] && [ "$suite" != bookworm ] || continue
        log "sar/$sysstat-$locale.out" "$sysstat" "LC_ALL=$locale.UTF-8" sar -u -b 1 2 &
        log "mpstat/$sysstat-$locale.out" "$sysstat" "LC_ALL=$locale.UTF-8" mpstat 1 2 &
        log "iostat/$sysstat-$locale.out" "$sysstat" "LC_ALL=$locale.UTF-8" iostat -xt 1 2 &
    done
    wait
}

tree bullseye postgresql-13
tree trixie postgresql-17
tree forky postgresql-18
[ -e "$work/wheel/pgserver" ] \
    || pip install --quiet --root-user-action=ignore --no-deps --target "$work/wheel" \
        pgserver==0.1.4
for suite in bullseye trixie forky; do
    ln -sf sar.sysstat "$work/$suite/tree/usr/bin/sar"
done
mkdir -p "$work"/{bookworm,wheel}/tree/tmp
chmod 777 "$work"/{bookworm,wheel}/tree/tmp

export PGHOST=127.0.0.1 PGPORT=15977 PGUSER=postgres PGDATABASE=postgres
data=$(mktemp -d)
chown nobody "$data"
nobody() { (cd / && setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"); }
nobody "$server/initdb" -D "$data" -U postgres -A trust --locale=C.UTF-8 > /dev/null
nobody "$server/pg_ctl" -D "$data" -w -l "$data/log" \
    -o "-p $PGPORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$data" start > /dev/null
trap 'nobody "$server/pg_ctl" -D "$data" -m immediate stop > /dev/null; rm -rf "$data"' EXIT
"$server/pgbench" -i -q > /dev/null 2>&1

suite=bullseye
pgbench_logs 13 /usr/lib/postgresql/13/bin/pgbench
fio_logs 3.25
monitor_logs 3.3.17 12.5.2
suite=bookworm
pgbench_logs 15 "$server/pgbench"
fio_logs 3.33
monitor_logs 4.0.2 12.6.1
sysbench_logs
suite=wheel
LD_LIBRARY_PATH=$work/wheel/pgserver/pginstall/lib \
    pgbench_logs 16 "$work/wheel/pgserver/pginstall/bin/pgbench"
suite=trixie
pgbench_logs 17 /usr/lib/postgresql/17/bin/pgbench
fio_logs 3.39
monitor_logs 4.0.4 12.7.5
suite=forky
pgbench_logs 18 /usr/lib/postgresql/18/bin/pgbench
fio_logs 3.41
monitor_logs 4.0.7

# logs/hammerdb is written by hand and stays.
rm -rf "$here"/logs/{pgbench,fio,sysbench,vmstat,iostat,mpstat,sar}
cp -r "$out"/* "$here/logs/"
(printf '# file\tversion\tbegan\tcommand\n' && sort "$work/manifest") > "$here/manifest.tsv"
"$here/expected.py"
