#!/bin/sh
# The lessons quote compiled code and real runs. In a README, a REFERENCE, or a page beside the chapters,
#
#     <!-- code: chapters/01_normalization/normalization.c rms_norm -->     a function or a type, with the comment above it
#     <!-- run: 01_normalization | RMSNorm by hand -->                      that section of what the program prints
#     <!-- run: 03_feed_forward | The hidden width of every Llama | 7B -->  its column heads, and its lines with a 7B
#     <!-- run: tests/golden/articles.txt | Masks -->                       a section of a committed run
#
# stand before a fenced block, which this script fills: sh tests/lessons.sh DATA, where DATA holds each program's
# output as NN_name.txt; the lesson of a program that is not built is skipped. With --check it changes nothing and fails
# if a quotation is not what is compiled or run. Either way it fails if a link or an image leads to no file or section, if
# a formula would not show on GitHub, if a lesson does not end with the next, if the glossary's names are
# not those of chapter 9, or if a figure has no title or no white ground.
data=$1 check=$2 passed=0 failed=0
fresh=$(mktemp) && trap 'rm -f "$fresh"' EXIT

quote='
function quote_code(file, name,    line, comment, found, type) {
    comment = type = ""
    while ((getline line < file) > 0) {
        if (found) { print line; if (line ~ /^}/) break; continue }
        if (type != "") {
            type = type line "\n"
            if (line ~ "^} " name ";") { printf "%s", comment type; found = 1; break }
            if (line ~ /^}/) comment = type = ""
            continue
        }
        if (line ~ "^[A-Za-z_].*[ *]" name "[(;]" && line !~ /^#/) {
            printf "%s", comment; print line; found = 1
            if (line ~ /(;|})( *\/\*.*\*\/)?$/) break
            continue
        }
        if (line ~ /^typedef struct.*{$/) { type = line "\n"; continue }
        if (line ~ /^\/\*/ || (comment != "" && line !~ /^[A-Za-z_#}]/ && line != "")) comment = comment line "\n"
        else comment = ""
    }
    close(file)
    if (!found) { print "error: " FILENAME ":" FNR ": " file " has no " name > "/dev/stderr"; status = 1 }
}
function quote_run(program, title, rows,    file, line, found, n, some) {
    file = program ~ /\// ? program : data "/" program ".txt"
    while ((getline line < file) > 0) {
        if (line ~ /^== /) { if (found) break; found = line == "== " title }
        if (found && (++n <= 2 || line ~ rows)) { lines = lines line "\n"; some = some || n > 2 }
    }
    close(file)
    if (lines == "" || (rows != "" && !some)) { print "error: " FILENAME ":" FNR ": " program " prints no section \"" title "\"" (rows ? " with " rows : "") > "/dev/stderr"; status = 1 }
    sub(/\n+$/, "\n", lines); printf "%s", lines; lines = ""
}
/^<!-- (code|run): / { marker = $0; print; next }
marker != "" && /^```/ {
    print
    sub(/^<!-- /, "", marker); sub(/ -->$/, "", marker)
    if (marker ~ /^code: /) { split(marker, word, " "); quote_code(word[2], word[3]) }
    else { sub(/^run: /, "", marker); split(marker, word, / \| /); quote_run(word[1], word[2], word[3]) }
    marker = ""; skipping = 1; next
}
skipping && /^```/ { skipping = 0 }
!skipping { print }
END { exit status }
'
# Prints the links of a page that lead nowhere: to no file, or to no heading of a page.
dead_links() {
    grep -oE '\]\([^) ]+' "$1" | cut -c3- | grep -v '^http' | while read -r link; do
        file=${link%%#*} section=${link#"${link%%#*}"}
        page=$(dirname "$1")/$file && [ -n "$file" ] || page=$1
        [ -e "$page" ] && { [ -z "$section" ] || sections "$page" | grep -qxF "$section"; } ||
            echo "$1: the link to $link leads nowhere"
    done
}

# The headings of a page, as GitHub makes anchors of them: "## What it prints" is #what-it-prints.
sections() { sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed -e 's/[^a-z0-9_-]//g' -e 's/^/#/'; }

# The glossary's tensors must be those that chapter 9 prints, with the same shapes, and its fields of config.json those
# that chapter 9 reads. Prints what differs.
strange_names() {
    awk '/^== / { on = $0 == "== What it weighs" } on && match($0, /\[.*\]/) { print $1, substr($0, RSTART, RLENGTH) }' \
        "$data/09_decoder.txt" >"$fresh"
    awk -F ' *[|] *' '$4 ~ /weight`$/ { gsub(/`|^`model\.|\.weight/, "", $4); print $4, $7 }' "$1" | diff "$fresh" - |
        sed -n -e "s|^<|$1: lacks|p" -e "s|^>|$1: chapter 9 has no|p"
    awk -F ' *[|] *' '/^## / { on = /onfig/ } on && $4 ~ /^`[a-z_]+`$/ { gsub(/`/, "", $4); print $4 }' "$1" | while read -r field; do
        grep -q "\"$field\"" chapters/09_decoder/config.c || echo "$1: chapter 9 reads no $field"
    done
}

# A lesson ends with a link to the next one; the last one, with a link to something.
no_next() {
    next=$(ls chapters/*/README.md | cut -d / -f 2 | grep -A 1 "^$program\$" | sed -n 2p)
    sed -n '/^## Next/,$p' "$1" | grep -q "](\.\./$next" || echo "$1: it does not end with the next lesson"
}

# GitHub takes the backslash from \\ \, \; between dollars: such a formula belongs into a ```math block.
lost_backslashes() {
    awk '/^```/ { code = !code } !code && /\$/ && /\\[,;:!{}\\]/ { print FILENAME ":" FNR ": GitHub loses a backslash here: " $0 }' "$1"
}

# A title says what is seen, and is as large in every figure. Where the page is dark, black text needs a white ground.
poor_figure() {
    grep -q 'font-size="18.00"' "$1" || echo "$1: it has no title of 18 points that says what is seen"
    grep -q '<rect x="0" y="0" .*fill="#ffffff"' "$1" || echo "$1: it has no white ground"
    grep -qF "(${1##*/})" figures/README.md || echo "$1: figures/README.md does not show it"
}

for lesson in README.md */README.md chapters/*.md */*/README.md chapters/*/REFERENCE.md; do
    program=$(basename "$(dirname "$lesson")")
    if [ -e "chapters/$program/main.c" ] && [ ! -e "$data/$program.txt" ]; then
        echo "skipped: $lesson, for $program is not built here"
        continue
    fi
    spoilt=$(dead_links "$lesson"; lost_backslashes "$lesson"
             case $lesson in
             chapters/GLOSSARY.md) strange_names "$lesson" ;;
             chapters/[0-9]*/README.md) no_next "$lesson" ;;
             esac)
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
for figure in figures/*.svg; do
    spoilt=$(poor_figure "$figure" 2>&1)
    if [ -z "$spoilt" ]; then
        passed=$((passed + 1))
    else
        echo "$spoilt"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
