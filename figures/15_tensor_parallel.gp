# Column-parallel, then row-parallel: each rank's part of a feed-forward layer, and the one exchange.
figure = "15_cut"; height = 420
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


# The part of the course's own model that each of three ranks holds.
figure = "15_parts"; height = 430
load "figures/style.gp"
eval sheet("Each of three ranks holds a third; only rank 1 needs both key-value heads")
file = data."/15_parts.dat"
H = 6; KV = 2; F = 512; V = 1024
# Where a rank's part of `whole` begins and ends: two columns, in percent.
read(rank, column) = real(system(sprintf("awk '$1 == %d { print $%d }' '%s'", rank, column, file)))
first(rank, column, whole) = int(read(rank, column) * whole / 100 + 0.5)
last(rank, column, whole) = first(rank, column + 1, whole) - 1
room = 200; top = 296; shared = 220; step = 44
part(y, rank, column, whole) = sprintf("eval box(%g, %g, %g, 14, pale, faint); eval box(%g, %g, %g, 14, green, green); \
    set label '%d – %d' at %g, %g center front textcolor rgb grey font ',14'", x, y, room, \
    x + room * read(rank, column) / 100, y, room * (read(rank, column + 1) - read(rank, column)) / 100, \
    first(rank, column, whole), last(rank, column, whole), x + room / 2, y - 13)
do for [rank = 0:2] {
    x = 188 + rank * 228
    set object 900 + rank rectangle from x - 9, 22 to x + room + 9, 368 fillstyle empty border linecolor rgb grey linewidth 1.2 dashtype 2
    set label sprintf("rank %d", rank) at x + room / 2, 348 center front
    queries = last(rank, 2, H) - first(rank, 2, H)
    keys = last(rank, 4, KV) - first(rank, 4, KV)
    do for [h = first(rank, 2, H):last(rank, 2, H)] {
        g = h * KV / H
        at = x + room / 2 + (h - first(rank, 2, H) - queries / 2.0) * step
        to = x + room / 2 + (g - first(rank, 4, KV) - keys / 2.0) * step
        set arrow from at, top to to, shared nohead linecolor rgb grey linewidth 1.4 back
        n = n + 1; set object n circle at at, top size 13 front fillcolor rgb blue fillstyle solid noborder
        set label sprintf("%d", h) at at, top center front textcolor rgb "#ffffff" font ",14"
        eval box(to - 12, shared - 12, 24, 24, vermillion, vermillion)
        set label sprintf("%d", g) at to, shared center front textcolor rgb "#ffffff" font ",14"
    }
    eval part(144, rank, 6, F)
    eval part(74, rank, 8, V)
}
set label sprintf("%d query heads", H) at 165, top right front textcolor rgb blue
set label sprintf("%d key-value heads", KV) at 165, shared right front textcolor rgb vermillion
set label sprintf("%d hidden units", F) at 165, 151 right front textcolor rgb green
set label sprintf("%d tokens", V) at 165, 81 right front textcolor rgb green
plot NaN


# The speedup over one machine, by the formula, for a small model with 4.5 bits per weight and the largest with 16.
figure = "15_pays"; height = 460
load "figures/style.gp"
file = data."/15_pays.dat"
set multiplot layout 1, 2 title "A small model needs a fast network, a large model gains on almost any" font ",18"
set xlabel "machines"
set ylabel "speedup over one machine"
set logscale xy 2
set xrange [1:64]
set yrange [1:64]
set xtics 1, 2, 64
set ytics 1, 2, 64
set key left top
array names = ["1 Gbit/s", "10 Gbit/s", "100 Gbit/s", "InfiniBand"]
set title "Llama 3.2 1B, 4.5 bits per weight" font ",16"
plot for [k = 1:4] file index 0 using 1:(column(1 + k)) with linespoints linetype k title names[k], x with lines linecolor rgb grey dashtype 2
set title "Llama 3.1 405B, 16 bits per weight"
unset ylabel
unset key
plot for [k = 1:4] file index 1 using 1:(column(1 + k)) with linespoints linetype k, x with lines linecolor rgb grey dashtype 2
unset multiplot
