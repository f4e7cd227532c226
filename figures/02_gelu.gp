# What the two approximations of GELU are off by.
load "figures/style.gp"
file = data . "/02_activation.dat"

set title "GELU's tanh formula is 43 times closer than x sigmoid(1.702 x)"
set xlabel "x"; set ylabel "approximation − GELU"
set xrange [-6:6]; set xtics 1
set yrange [-0.025:0.01]; set ytics 0.005; set format y "%.3f"
set xzeroaxis linecolor rgb grey
set label "x sigmoid(1.702 x)" at 2.75, -0.0195 left textcolor rgb vermillion
set label "off by up to 0.0203" at 2.75, -0.0215 left textcolor rgb vermillion
set label "tanh formula, off by up to 0.0005" at 1.5, 0.0018 left textcolor rgb blue
plot file using 1:($10 - $6) every 2 with lines linetype 2, \
     file using 1:($8 - $6) every 2 with lines linetype 1
