#!/bin/sh
# The lessons quote compiled code and real runs. In a README,
#
#     <!-- code: chapters/01_normalization/normalization.c rms_norm -->     a function with the comment above it
#     <!-- run: 01_normalization | RMSNorm by hand -->                      that section of what the program prints
#
# stand before a fenced block, which this script fills: sh tests/lessons.sh DATA, where DATA holds each program's
# output as NN_name.txt; the lesson of a program that is not built is skipped. With --check it changes nothing and fails
# if a quotation is not what is compiled or run. Either way it fails if a link or an image leads to no file, or if a
# formula would not show on GitHub.
data=$1 check=$2 passed=0 failed=0
fresh=$(mktemp) && trap 'rm -f "$fresh"' EXIT

quote='
function quote_code(file, name,    line, comment, found) {
    comment = ""
    while ((getline line < file) > 0) {
        if (found) { print line; if (line ~ /^}/) break; continue }
        if (line ~ "^[A-Za-z_].*[ *]" name "\\(" && line !~ /^#/) {
            printf "%s", comment; print line; found = 1
            if (line ~ /(;|})( *\/\*.*\*\/)?$/) break
            continue
        }
        if (line ~ /^\/\*/ || (comment != "" && line !~ /^[A-Za-z_#}]/ && line != "")) comment = comment line "\n"
        else comment = ""
    }
    close(file)
    if (!found) { print "error: " FILENAME ":" FNR ": " file " has no " name > "/dev/stderr"; status = 1 }
}
function quote_run(program, title,    file, line, found) {
    file = data "/" program ".txt"
    while ((getline line < file) > 0) {
        if (line ~ /^== /) { if (found) break; found = line == "== " title }
        if (found) lines = lines line "\n"
    }
    close(file)
    if (lines == "") { print "error: " FILENAME ":" FNR ": " program " prints no section \"" title "\"" > "/dev/stderr"; status = 1 }
    sub(/\n+$/, "\n", lines); printf "%s", lines; lines = ""
}
/^<!-- (code|run): / { marker = $0; print; next }
marker != "" && /^```/ {
    print
    sub(/^<!-- /, "", marker); sub(/ -->$/, "", marker)
    if (marker ~ /^code: /) { split(marker, word, " "); quote_code(word[2], word[3]) }
    else { sub(/^run: /, "", marker); split(marker, word, / \| /); quote_run(word[1], word[2]) }
    marker = ""; skipping = 1; next
}
skipping && /^```/ { skipping = 0 }
!skipping { print }
END { exit status }
'
# Prints the links of a page that lead nowhere.
dead_links() {
    grep -oE '\]\([^)# ]+' "$1" | cut -c3- | grep -v '^http' | while read -r link; do
        [ -e "$(dirname "$1")/$link" ] || echo "$1: the link to $link leads nowhere"
    done
}

# GitHub takes the backslash from \\ \, \; between dollars: such a formula belongs into a ```math block.
lost_backslashes() {
    awk '/^```/ { code = !code } !code && /\$/ && /\\[,;:!{}\\]/ { print FILENAME ":" FNR ": GitHub loses a backslash here: " $0 }' "$1"
}

for lesson in README.md */README.md */*/README.md; do
    program=$(basename "$(dirname "$lesson")")
    if [ -e "$(dirname "$lesson")/main.c" ] && [ ! -e "$data/$program.txt" ]; then
        echo "skipped: $lesson, for $program is not built here"
        continue
    fi
    spoilt=$(dead_links "$lesson"; lost_backslashes "$lesson")
    if [ -n "$spoilt" ]; then
        echo "$spoilt"
        failed=$((failed + 1))
        continue
    fi
    if ! awk -v data="$data" "$quote" "$lesson" >"$fresh"; then
        failed=$((failed + 1))
    elif cmp -s "$fresh" "$lesson"; then
        passed=$((passed + 1))
    elif [ "$check" = --check ]; then
        echo "$lesson quotes what is no longer so (make docs refreshes it):"
        diff "$lesson" "$fresh" | head -20
        failed=$((failed + 1))
    else
        cat "$fresh" >"$lesson"
        echo "$lesson refreshed"
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
