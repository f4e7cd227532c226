# The part of the course's own model that each of three ranks holds.
height = 430
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
