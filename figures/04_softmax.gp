# What the softmax of x, x - 1, x - 2 gives for its first weight if the maximum is not subtracted.
height = 400
load "figures/style.gp"

file = data."/04_softmax.dat"
set title "Without subtracting the maximum, softmax breaks above 88 and below −100"
set xlabel "largest of three scores"
set ylabel "its weight"
set xrange [-120:120]
set yrange [0:1.05]
set xtics 40
set ytics ("0" 0, "0.5" 0.5, "0.6652" 0.6652, "1" 1)
set object 1 rectangle from -120, 0 to -104, 1.05 behind fillcolor rgb "#fbe3d3" fillstyle solid noborder
set object 2 rectangle from 88.7, 0 to 120, 1.05 behind fillcolor rgb "#fbe3d3" fillstyle solid noborder
set label "0 / 0\nNaN" at -112, 0.35 center textcolor rgb vermillion
set label "∞ / ∞\nNaN" at 104.5, 0.35 center textcolor rgb vermillion
set label "with the maximum subtracted: the same everywhere" at 0, 0.72 center textcolor rgb blue
set label "e^x  runs out of digits" at -99, 0.95 left textcolor rgb vermillion
set label "the sum is ∞" at 85, 0.12 right textcolor rgb vermillion
plot 0.66524 with lines linetype 1 linewidth 6 linecolor rgb "#a9cfe6", \
     file using 1:2 with lines linetype 2
