# The least score of a query with a key like it, in each stretch of 256 distances.
height = 440
load "figures/style.gp"

set title "Past the trained length, a perfect match can score lower than it ever did"
set xlabel "distance between query and key"
set ylabel "least score in 256 distances"
set xrange [0:39000]
set yrange [-0.36:0.75]
set xtics ("0" 0, "4096" 4096, "8192" 8192, "16384" 16384, "24576" 24576, "32768" 32768)
set ytics 0.25
set object 1 rectangle from 0, graph 0 to 4096, graph 1 fillcolor rgb "#eef4f9" fillstyle solid noborder behind
set label 1 "trained" at 2048, 0.69 center textcolor rgb grey
file = data."/04_decay.dat"
stats file using ($1 < 4096 ? $2 : NaN) nooutput
least = STATS_min
set arrow 1 from 0, least to 32768, least nohead linecolor rgb grey dashtype 2
set label 2 "least inside" at 33100, least textcolor rgb grey
set label 3 "as trained, theta 10000" at 24576, -0.32 left textcolor rgb vermillion
set label 4 "positions divided by 8" at 9000, 0.27 textcolor rgb blue
plot file using 1:2:(least) with filledcurves below fillcolor rgb vermillion fillstyle transparent solid 0.3, \
     file using 1:3 with lines linetype 1 linewidth 1.6, \
     file using 1:2 with lines linetype 2 linewidth 1.6
