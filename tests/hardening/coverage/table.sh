#!/bin/sh
# How many lines and branches of chapters/ and common/ the tests ran, as gcov counts them: a table of the files, then the
# totals. Fails if they are too few. What nobody ran is in BUILD/uncovered.txt; excused.txt has the lines that nobody can.
#     sh tests/hardening/coverage/table.sh BUILD
build=$1
find "$build/objects/chapters" "$build/objects/common" -name '*.gcda' | sort |
    while read -r counts; do gcov --stdout --branch-probabilities --branch-counts "$counts" 2>/dev/null; done |
    awk -v uncovered="$build/uncovered.txt" -v least_lines=99.5 -v least_branches=95 '
    function percent(part, whole) { return whole ? 100 * part / whole : 100 }

    FILENAME == "tests/hardening/coverage/excused.txt" {
        if ($0 !~ /^#/ && split($0, part, " [|] ") == 3) { excuses++; where[excuses] = part[1]; text[excuses] = part[2] }
        next
    }
    /^ *-: *0:Source:/ {
        file = $0; sub(/.*:Source:/, "", file)
        counts = file ~ /^(chapters|common)\/.*\.c$/
        if (counts && !(file in lines)) { lines[file] = 0; files[++n] = file }
        next
    }
    !counts { next }
    /^function/ { name = $2; next }
    /^branch/ {
        if (excused || is_excused("branches")) next
        branches[file]++
        if ($0 !~ /never executed/ && $4 > 0) taken[file]++
        else missed("a branch of ")
        next
    }
    # The excuse is a part of the line, "function NAME", or "branches": all of the file.
    function is_excused(subject,    e, is) {
        for (e = 1; e <= excuses; e++)
            if (where[e] == file && (index(subject, text[e]) || text[e] == "function " name)) is = used[e] = 1
        return is
    }
    function missed(what) {
        if (last_missed == file number) return
        last_missed = file number
        print file ":" number ": " what source > uncovered
    }
    /^ *[^:]*: *[0-9]+:/ {
        count = $0; sub(/:.*/, "", count); gsub(/ /, "", count)
        number = $0; sub(/^[^:]*: */, "", number); sub(/:.*/, "", number)
        source = $0; sub(/^[^:]*:[^:]*:/, "", source)
        excused = is_excused(source)
        if (count == "-" || number == 0 || excused) next
        lines[file]++
        if (count !~ /^[#=]/) run[file]++
        else missed("")
    }
    END {
        format = "%-44s %6s %8s %9s %8s\n"
        printf format, "", "lines", "run", "branches", "taken"
        for (i = 1; i <= n; i++) {
            file = files[i]
            printf format, file, lines[file], sprintf("%.1f %%", percent(run[file], lines[file])),
                branches[file] + 0, sprintf("%.1f %%", percent(taken[file], branches[file]))
            all_lines += lines[file]; all_run += run[file]; all_branches += branches[file]; all_taken += taken[file]
        }
        printf format, "all", all_lines, sprintf("%.2f %%", percent(all_run, all_lines)),
            all_branches, sprintf("%.2f %%", percent(all_taken, all_branches))
        for (e = 1; e <= excuses; e++)
            if (!used[e]) { print "excused, but not there any more: " where[e] ": " text[e]; failed = 1 }
        if (percent(all_run, all_lines) < least_lines || percent(all_taken, all_branches) < least_branches) {
            print "under the bounds of " least_lines " % of the lines and " least_branches " % of the branches"
            print uncovered " has what is missing"
            failed = 1
        }
        exit failed
    }' tests/hardening/coverage/excused.txt -
