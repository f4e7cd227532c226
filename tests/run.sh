#!/bin/sh
# Runs the commands, as many at a time as there are processors (or JOBS), and shows the output of each, in order. At the end:
# what was skipped, what failed, and "N passed, M failed", the sum over all commands. A command counts its own tests: with
# cmocka's "[  PASSED  ] 3 test(s)." or a last line "3 passed, 0 failed". A command that exits non-zero without counting a
# failure (a crash) counts as one.
passed=0 failed=0 number=0
# Threads that wait for each other sleep: spinning, they would take the processors from the tests beside them.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT

# In the background: the N-th command writes its output to $folder/N, and in the end its exit status to $folder/N.status.
for command; do
    printf '%s\0' "$number" "$command"
    number=$((number + 1))
done | xargs -0 -n 2 -P "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" sh -c '
    $2 >"$0/$1" 2>&1
    echo $? >"$0/$1.ending"
    mv "$0/$1.ending" "$0/$1.status"' "$folder" &

for command; do
    output=$folder/$number
    until [ -e "$output.status" ]; do sleep 0.1; done
    echo "── $command"
    cat "$output"
    status=$(cat "$output.status")
    number=$((number + 1))
    good=$(sed -n -e 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' \
        -e 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p' "$output" | tail -1)
    bad=$(sed -n -e 's/^\[  FAILED  \] [^0-9]*\([0-9]*\) test.*/\1/p' \
        -e 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$output" | head -1)
    [ "$status" -ne 0 ] && [ "${bad:-0}" -eq 0 ] && bad=1
    [ "$status" -eq 0 ] && [ -z "$good" ] && echo "no test was run by: $command" && bad=1
    passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-0}))
    sed -n -e 's/^\[  SKIPPED \] \([^ ]*\)$/\1/p' -e 's/^\(.*: \)\{0,1\}skipped: /\1/p' "$output" | sort -u |
        sed "s|^|skipped: $(basename "${command%% *}"): |" >>"$folder/skipped"
    if [ "${bad:-0}" -ne 0 ]; then
        echo "failed: $command"
        { grep -E '^(\[ *(ERROR|LINE|FAILED) *\]|not ok)' "$output" || tail -5 "$output"; } | head -20
    fi >>"$folder/failures"
done
echo
sed 's/^skipped: sh: /skipped: /' "$folder/skipped"
cat "$folder/failures"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
