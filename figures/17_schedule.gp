# The learning rate schedule: linear warm-up, half a cosine down, and then the lowest rate.
height = 340
load "figures/style.gp"
set title "Learning rate schedule: 50 steps of warm-up, half a cosine down to a tenth"
set xlabel "step"
set ylabel "learning rate, divided by its peak"
set xrange [0:1100]
set yrange [0:1.2]
set label 1 "warm-up" at 60, 0.35 textcolor linetype 1
set label 2 "peak" at 60, 1.09 textcolor linetype 1
set label 3 "lowest rate" at 1010, 0.17 textcolor linetype 1
plot data . "/17_schedule.dat" using 1:2 with lines linetype 1
