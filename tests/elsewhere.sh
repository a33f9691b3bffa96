#!/bin/sh
# Runs the tests where nothing is as usual: in a folder with a space in its name, with another zone, locale and hash
# seed, deaf to interrupts as a background job of a shell is; and, for root, as another user and without a network.
# What is given goes to pytest: tests/elsewhere.sh tests/house
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/${VENV:-.venv}/bin/python
place=$(mktemp -d)/"so far away"
trap 'rm -rf "$(dirname "$place")"' EXIT
mkdir -p "$place/home"
git -C "$root" ls-files -z | (cd "$root" && xargs -0 cp --parents -t "$place")
trap '' INT
run() {
    cd "$place"
    exec "$@" env -i PATH="$(dirname "$python"):/usr/bin:/bin" HOME="$place/home" TMPDIR="$place/home" \
        TZ=Pacific/Kiritimati LC_ALL=C PYTHONHASHSEED=77 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
        PYTHONPATH="$place/src" "$python" -m pytest -n 2 --dist worksteal -p no:cacheprovider \
        -m "not peers and not engines and not client" --ignore tests/browser $arguments
}
arguments=$*
[ "$(id -u)" -eq 0 ] || { echo "with the network and as $(id -un), for want of root's rights" >&2; (run); exit; }
nobody=$(id -u nobody) nogroup=$(id -g nobody)
chown -R "$nobody" "$(dirname "$place")"
if ! setpriv --reuid="$nobody" --regid="$nogroup" --clear-groups "$python" -c "" 2>/dev/null; then
    echo "as root and without a network: nobody cannot read $python" >&2
    (run unshare -n sh -c 'ip link set lo up && exec "$@"' sh)
else
    (run unshare -n sh -c 'ip link set lo up && exec "$@"' sh setpriv --reuid="$nobody" --regid="$nogroup" --clear-groups)
fi
