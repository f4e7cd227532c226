# The sets of a first-level cache: where 16 rows of a weight go that lie 8 KB apart, and where they go once they are packed.
height = 430
load "figures/style.gp"
unset border; unset tics; unset key; unset grid
set xrange [0:100]; set yrange [0:49]; set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0
n = 0
box(x, y, w, h, fill, edge) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 0.6", x, y, x + w, y + h, fill, edge)
pale = "#f2f2f2"
left = 26
cell = 1.1
do for [g = 0:1] {
    base = g == 0 ? 27 : 5
    do for [set_ = 0:63] {
        do for [way = 0:7] {
            taken = g == 0 ? set_ == 20 : (set_ >= 20 && set_ < 36 && way == 0)
            eval box(left + cell * set_, base + 1.7 * way, cell * 0.86, 1.4, taken ? (g == 0 ? vermillion : blue) : pale, taken ? (g == 0 ? vermillion : blue) : faint)
        }
    }
    set label (g == 0 ? "where they lie:\n16 rows, 8 KB apart" : "packed:\nside by side") at 1, base + 8.5 left front textcolor rgb black
}
set label "64 sets of 8 lines: a first-level cache of 32 KiB" at left + 35, 45.5 center front textcolor rgb grey
set label "all 16 want the same set, which holds 8" at left + cell * 22, 42 left front textcolor rgb vermillion
set arrow from left + cell * 20.4, 43.3 to left + cell * 20.4, 41.1 linewidth 1.6 linecolor rgb vermillion size 1, 25 filled front
set label "each has a set of its own, and 7 places are left in it" at left + cell * 20, 3 left front textcolor rgb blue
plot NaN
