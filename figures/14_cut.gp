# Column, then row: where each of two ranks has its part, and the one place where they must speak.
height = 400
load "figures/style.gp"
set title "Column, then row: one sum"
unset border
unset tics
unset grid
set xrange [0:30]
set yrange [0:13]
box(n, x, y, w, h, c) = sprintf("set object %d rectangle from %g, %g to %g, %g fillcolor rgb '%s' fillstyle solid 0.25 border linecolor rgb '%s'", n, x, y, x + w, y + h, c, c)
# the stream, which both have whole
eval box(1, 0.5, 8.6, 2.4, 0.9, grey)
eval box(2, 0.5, 3.4, 2.4, 0.9, grey)
set label "x" at 1.7, 9.05 center
set label "x" at 1.7, 3.85 center
# W1, whose outputs are cut
eval box(3, 5, 8, 3, 3.2, blue)
eval box(4, 5, 2.2, 3, 3.2, vermillion)
set label "half of the" at 6.5, 10 center font ",13"
set label "outputs" at 6.5, 9.2 center font ",13"
set label "the other" at 6.5, 4.2 center font ",13"
set label "half" at 6.5, 3.4 center font ",13"
# hidden
eval box(5, 10.2, 8.6, 3.4, 0.9, blue)
eval box(6, 10.2, 3.4, 3.4, 0.9, vermillion)
set label "hidden, half" at 11.9, 9.05 center font ",12"
set label "hidden, half" at 11.9, 3.85 center font ",12"
# W2, whose inputs are cut
eval box(7, 15.6, 8, 3, 3.2, blue)
eval box(8, 15.6, 2.2, 3, 3.2, vermillion)
set label "half of the" at 17.1, 10 center font ",13"
set label "inputs" at 17.1, 9.2 center font ",13"
set label "the other" at 17.1, 4.2 center font ",13"
set label "half" at 17.1, 3.4 center font ",13"
# shares
eval box(9, 20.6, 8.6, 2.4, 0.9, blue)
eval box(10, 20.6, 3.4, 2.4, 0.9, vermillion)
set label "share" at 21.8, 9.05 center font ",12"
set label "share" at 21.8, 3.85 center font ",12"
eval box(11, 26.6, 8.6, 2.4, 0.9, grey)
eval box(12, 26.6, 3.4, 2.4, 0.9, grey)
set label "sum" at 27.8, 9.05 center font ",12"
set label "sum" at 27.8, 3.85 center font ",12"
do for [y in "9.05 3.85"] {
    set arrow from 3.1, real(y) to 4.8, real(y) linecolor rgb grey
    set arrow from 8.2, real(y) to 10.0, real(y) linecolor rgb grey
    set arrow from 13.8, real(y) to 15.4, real(y) linecolor rgb grey
    set arrow from 18.8, real(y) to 20.4, real(y) linecolor rgb grey
}
set arrow from 23.2, 9.05 to 26.4, 9.05 linecolor rgb black linewidth 2
set arrow from 23.2, 3.85 to 26.4, 3.85 linecolor rgb black linewidth 2
set arrow from 23.2, 9.05 to 26.4, 3.95 linecolor rgb black linewidth 2
set arrow from 23.2, 3.85 to 26.4, 8.95 linecolor rgb black linewidth 2
set label "gate, up" at 6.5, 12 center
set label "swiglu" at 11.9, 12 center
set label "down" at 17.1, 12 center
set label "over the network" at 24.8, 12 center
set label "rank 0" at 0.5, 10.6 left textcolor rgb blue
set label "rank 1" at 0.5, 5.4 left textcolor rgb vermillion
set label "Between the matrices nobody waits for anybody" at 11.9, 0.8 center textcolor rgb grey
plot NaN
