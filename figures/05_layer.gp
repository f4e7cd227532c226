# One layer of attention as shapes: T rows of C numbers, a few heads of D numbers each, and C numbers again.
height = 350
load "figures/style.gp"
unset border; unset tics; unset key; unset grid
set xrange [0:100]; set yrange [0:40]; set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0
array colour[6] = [blue, vermillion, green, purple, orange, sky]
n = 0
box(x, y, w, h, fill, edge) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.2", \
    x, y, x + w, y + h, fill, edge)
go(x, y, to_x, to_y, c) = sprintf("set arrow from %g,%g to %g,%g linecolor rgb '%s' linewidth 1.5 size 1, 25 filled", x, y, to_x, to_y, c)

eval box(2, 13, 12, 12, "#eeeeee", grey)
set label "normed rows" at 8, 28.5 center font ",14"
set label "x" at 8, 19 center font ",18"
set label "[T, C]" at 8, 10.5 center textcolor rgb grey font ",14"
do for [h = 0:5] {
    y = 31.5 - 5.5 * h
    eval go(14.4, 19, 20.6, y + 1.8, grey)
    do for [m = 0:2] { eval box(21.5 + 6 * m, y, 4.5, 3.6, "#ffffff", colour[h + 1]) }
    set label "q" at 23.75, y + 1.8 center font ",13"
    set label "k" at 29.75, y + 1.8 center font ",13"
    set label "v" at 35.75, y + 1.8 center font ",13"
    eval go(38.6, y + 1.8, 45.2, y + 1.8, grey)
    eval box(46, y, 4.5, 3.6, colour[h + 1], colour[h + 1])
    eval go(51, y + 1.8, 56.6, 19, grey)
    set label "attention" at 41.8, y + 3.2 center textcolor rgb grey font ",11"
    eval box(57.5 + 2 * h, 13, 2, 12, colour[h + 1], colour[h + 1])
}
set label "six heads, each with its own look at the rows" at 36, 38 center font ",14"
set label "[T, D] each" at 36, 1.6 center textcolor rgb grey font ",14"
set label "side by side" at 63.5, 28.5 center font ",14"
set label "[T, H·D]" at 63.5, 10.5 center textcolor rgb grey font ",14"
eval go(70, 19, 81, 19, grey)
set label "W_o" at 75.5, 21.3 center font ",15"
eval box(82, 13, 12, 12, "#eeeeee", grey)
set label "added to the stream" at 88, 28.5 center font ",14"
set label "out" at 88, 19 center font ",18"
set label "[T, C]" at 88, 10.5 center textcolor rgb grey font ",14"
plot NaN
