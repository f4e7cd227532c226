# Four activations and, below, their slopes: what flows forward, and what flows back.
height = 760
load "figures/style.gp"
file = data . "/02_activation.dat"

set multiplot layout 2, 1
set lmargin 7; set rmargin 4
set xrange [-4:3]; set xtics 1; set xzeroaxis linecolor rgb grey

set title "SiLU and GELU are ReLU with the corner rounded, and a dip before it"
set yrange [-0.5:3]; set ytics 0.5
set label 1 "ReLU" at 1.35, 1.75 right textcolor rgb black
set label 2 "sigmoid" at -2.05, 0.3 right textcolor rgb green
set label 3 "SiLU" at -2.1, -0.4 center textcolor rgb blue
set label 4 "GELU" at -0.25, -0.35 center textcolor rgb vermillion
plot file using 1:4 every 2 with lines linetype 3, \
     file using 1:2 every 2 with lines linetype 7, \
     file using 1:6 every 2 with lines linetype 2, \
     file using 1:12 every 2 with lines linetype 1

set title "Their slopes: ReLU's is 0 or 1, SiLU's and GELU's go below 0 and above 1"
set xlabel "x"
set yrange [-0.2:1.2]; set ytics 0.2
set label 1 at -0.07, 0.93
set label 2 at 2.2, 0.18 left
set label 3 at 1.45, 0.9 left
set label 4 at 0.72, 1.1 right
plot file using 1:5 every 2 with lines linetype 3, \
     file using 1:3 with steps linetype 7, \
     file using 1:7 every 2 with lines linetype 2, \
     file using 1:13 every 2 with lines linetype 1
unset multiplot
