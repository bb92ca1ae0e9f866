#!/bin/sh
# Performs the steps of the Dockerfile without a container builder, as root: the first stage is a
# build of this checkout, the second a folder that debootstrap fills. Then it runs the image's
# program in it, as the image's user.
#
# usage: packaging/try-dockerfile.sh [ARGUMENTS OF dyno]
set -eu
cd "$(dirname "$0")/.."
root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
stage=0
user=root
folder=/
target=${CARGO_TARGET_DIR:-target}

while read -r instruction rest; do
    case $stage:$instruction in
    *:'#'* | *:'') ;;
    0:FROM) stage=1 ;;
    1:FROM)
        stage=2
        suite=${rest#debian:}
        debootstrap --variant=minbase "${suite%-slim}" "$root" </dev/null >/dev/null
        ;;
    1:WORKDIR | 1:COPY) ;; # the checkout itself
    1:RUN) sh -ec "$rest" </dev/null ;;
    2:RUN) chroot "$root" /bin/sh -ec "$rest" </dev/null ;;
    2:COPY)
        set -- $rest "$@"
        case $1 in
        --from=build)
            from=${2#/src/target/}
            install -D -m 755 "$target/$from" "$root$3"
            shift 3
            ;;
        *)
            mkdir -p "$root$2"
            cp -R "$1/." "$root$2"
            shift 2
            ;;
        esac
        ;;
    2:USER) user=$rest ;;
    2:WORKDIR) folder=$rest ;;
    2:ENTRYPOINT) program=$(printf %s "$rest" | tr -d '[]"') ;;
    *)
        echo "try-dockerfile.sh: does not know $instruction" >&2
        exit 2
        ;;
    esac
done <Dockerfile

[ $# -gt 0 ] || set -- run oltp_read_write -t 2s --warmup 0 -q
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"; rm -rf "$root"' EXIT
chroot --userspec="$user" "$root" /bin/sh -c "cd $folder && exec \"\$@\"" sh "$program" "$@"
