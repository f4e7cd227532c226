#!/bin/sh
# One process with all threads beside several ranks of one thread, three times in turns, for the machine may be shared:
#
#     sh tests/bench/bench_parallel.sh "mpirun …" BUILD        as make bench-parallel does
#
# At the end, the middle of the three beside that of the one process.
mpirun=$1 build=$2
folder=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) && trap 'rm -rf "$folder"' EXIT INT TERM
"$build/bench_decoder" --write "$folder" || exit
for turn in 1 2 3; do
    $mpirun -n 1 "$build/bench_parallel" "$folder" || exit
    for ranks in 1 2 4; do OMP_NUM_THREADS=1 $mpirun -n $ranks "$build/bench_parallel" "$folder" || exit; done
done | tee "$folder/report"
awk -F ': decode | tokens/s, predicted |; prefill 512: | tokens/s' '
function middle(row,   a, b, c) { split(row, v, " "); a = v[1]; b = v[2]; c = v[3]
    return a + b + c - (a > b ? (a > c ? a : c) : (b > c ? b : c)) - (a < b ? (a < c ? a : c) : (b < c ? b : c)) }
!($1 in decode) { name[++n] = $1 }
{ decode[$1] = decode[$1] " " $2; prefill[$1] = prefill[$1] " " $4 }
END { if (!n || NR != 3 * n) exit 1 # a run has failed, and said so
    printf "\nThe middle of three, beside %s:\n", name[1]
    for (i = 2; i <= n; i++) printf "  %-24s decode %3.0f %%   prefill %3.0f %%\n", name[i],
        100 * middle(decode[name[i]]) / middle(decode[name[1]]), 100 * middle(prefill[name[i]]) / middle(prefill[name[1]]) }' "$folder/report"
