# Between which numbers the scores of a query with a key like it lie, in each stretch of 256 distances: as trained, and
# with positions divided by 8.
height = 390
load "figures/style.gp"

set multiplot layout 1, 2 margins 0.12, 0.96, 0.21, 0.79 spacing 0.09 \
    title "Past the trained length, a perfect match can score lower than any did in training" font ",18"
set title font ",16" offset 0, -0.5
set xlabel "distance between query and key"
set xrange [0:32768]
set yrange [-0.4:1.05]
set xtics ("4096" 4096, "16384" 16384, "32768" 32768)
set ytics ("−0.25" -0.25, "0" 0, "0.5" 0.5, "1" 1)
set object 1 rectangle from 0, graph 0 to 4096, graph 1 fillcolor rgb "#e6e6e6" fillstyle solid noborder behind
set label 1 "trained" at 4600, 0.95 left textcolor rgb grey
file = data."/05_decay.dat"
stats file using ($1 < 4096 ? $2 : NaN) nooutput
least = STATS_min
set arrow 1 from 0, least to 32768, least nohead linecolor rgb black linewidth 1.2 dashtype 2 front
set title "theta 10000, as trained" textcolor rgb vermillion
set ylabel "score of a query with an equal key" offset 2, 0
set label 2 "dashed: the least inside" at 32000, -0.33 right textcolor rgb black
plot file using 1:2:3 with filledcurves fillcolor rgb vermillion fillstyle solid 0.6 noborder
unset ylabel
unset label 2
set title "positions divided by 8" textcolor rgb blue
plot file using 1:4:5 with filledcurves fillcolor rgb blue fillstyle solid 0.6 noborder
unset multiplot
