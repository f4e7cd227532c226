# A text that looks at itself: scores, masked scores, weights. Each word has one random vector, its query and its key.
height = 400
load "figures/style.gp"

file = data."/05_matrices.dat"
set title font ",16"
set multiplot layout 1, 3 margins 0.07, 0.985, 0.03, 0.68 spacing 0.03 \
    title "Each word looks back, at itself and at its like" font ",18"
set size ratio -1
set xrange [-0.5:11.5]
set x2range [-0.5:11.5]
set yrange [11.5:-0.5]
set border 15 linecolor rgb faint
set tics scale 0
unset xtics
set x2tics rotate by 60 left offset 0, -0.2
set ytics offset 0.5, 0
unset grid
unset colorbox
array says[3] = ["1. scores of all pairs", "2. masked: no future", "3. weights: rows sum to 1"]
array most[3] = [7, 7, 1]
do for [n = 1:3] {
    set title says[n] offset 0, -0.3
    set cbrange [-most[n]:most[n]]
    if (n > 1) { unset ytics }
    set object 1 rectangle from -0.5, -0.5 to 11.5, 11.5 behind fillcolor rgb faint fillstyle solid noborder
    set label 1 n == 2 ? "−∞" : "" at 8, 3 center font ",22" textcolor rgb grey front
    plot file using 2:1:(n == 2 && $2 > $1 ? NaN : column(n + 2)) with image pixels, \
         file using 1:1:x2tic(6):ytic(6) every 12 axes x2y1 with points pointtype -1
}
unset multiplot
