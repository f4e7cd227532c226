# Column-parallel, then row-parallel: each rank's part of a feed-forward layer, and the one exchange.
height = 420
load "figures/style.gp"
eval sheet("Columns of the first matrices, rows of the last: only partial sums cross the network")
C = 56; F = 120; bar = 18
array colour[2] = [blue, vermillion]
array middle[2] = [268, 118]
x = 26; first = 132; hidden = 302; second = 472; share = 578; sum = 776
do for [r = 1:2] {
    y = middle[r]
    set label sprintf("rank %d", r - 1) at x, y + 36 left front textcolor rgb colour[r]
    eval box(x, y - bar / 2, C, bar, "#b0b0b0", "#b0b0b0")
    eval go(x + C + 6, y, first - 6, y, grey)
    eval box(first, y - C / 2, F, C, pale, grey)
    eval box(first + (r - 1) * F / 2, y - C / 2, F / 2, C, colour[r], colour[r])
    eval go(first + F + 6, y, hidden - 6, y, grey)
    eval box(hidden, y - bar / 2, F, bar, pale, grey)
    eval box(hidden + (r - 1) * F / 2, y - bar / 2, F / 2, bar, colour[r], colour[r])
    eval go(hidden + F + 6, y, second - 6, y, grey)
    eval box(second, y - F / 2, C, F, pale, grey)
    eval box(second, y - (r - 1) * F / 2, C, F / 2, colour[r], colour[r])
    eval go(second + C + 6, y, share - 6, y, grey)
    eval box(share, y - bar / 2, C, bar, colour[r], colour[r])
    do for [to = 1:2] { eval go(share + C + 6, y, sum - 6, middle[to], black) }
    eval box(sum, y - bar / 2, C, bar, "#b0b0b0", "#b0b0b0")
}
name(at, text) = sprintf("set label '%s' at %g, 366 center front font ',15'", text, at)
eval name(x + C / 2, "x")
eval name(first + F / 2, "gate and up:\ncolumns")
eval name(hidden + F / 2, "hidden\nunits")
eval name(second + C / 2, "down:\nrows")
eval name(share + C / 2, "partial\nsum")
eval name((share + C + sum) / 2, "over the\nnetwork")
eval name(sum + C / 2, "sum")
set arrow from x, 193 to share + C, 193 nohead linecolor rgb grey linewidth 1.2 dashtype 2
set label "nothing is exchanged here" at hidden + F / 2, 203 center front textcolor rgb grey font ",14"
set label "coloured: the part of this rank; pale: the parts of the other rank" at hidden + F / 2, 22 center front textcolor rgb grey font ",14"
plot NaN
