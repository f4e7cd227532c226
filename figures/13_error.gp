# The error of the weights of one matrix, by the bits per weight.
height = 440
load "figures/style.gp"
file = data."/13_error.dat"

# The names are at the ends of their curves, at 8 bits.
array height_at[3]
do for [i = 1:3] { stats file index (i - 1) using 2 every ::6::6 nooutput; height_at[i] = 1.06 * STATS_max }

set title "The finer the granularity, the smaller the error; each bit soon halves it"
set xlabel "bits per weight, with its part of the scale"
set ylabel "error of the weights of down\\_proj"
set logscale y 2
set xrange [1.8:10.6]
set xtics 2, 1, 8
set yrange [0.3:128]
set ytics ("0.5 %%" 0.5, "1 %%" 1, "2 %%" 2, "4 %%" 4, "8 %%" 8, "16 %%" 16, "32 %%" 32, "64 %%" 64)
set label "per tensor" at 8.15, height_at[3] left textcolor linetype 2
set label "per row (channel)" at 8.15, height_at[2] left textcolor linetype 3
set label "per group of 32" at 8.65, height_at[1] left textcolor linetype 1
plot file index 2 using 1:2 with linespoints linetype 2, \
     file index 1 using 1:2 with linespoints linetype 3, \
     file index 0 using 1:2 with linespoints linetype 1, \
     file index 3 using 1:2 with points pointtype 6 pointsize 1.1 linecolor rgb black linewidth 1.5, \
     file index 3 using (strcol(3)[4:] eq "0" ? $1 - 0.06 : NaN):($2 / 1.35):(strcol(3)) with labels right noenhanced textcolor rgb black, \
     file index 3 using (strcol(3)[4:] eq "1" ? $1 + 0.1 : NaN):($2 * 1.22):(strcol(3)) with labels left noenhanced textcolor rgb black
