# How steep the activations are: what training multiplies by.
height = 400
load "figures/style.gp"
file = data . "/02_activation.dat"
set xrange [-5:3]; set xtics 1; set xzeroaxis linecolor rgb grey
set title "ReLU's slope is 0 for every negative x; SiLU's and GELU's only at one point"
set xlabel "x"; set ylabel "slope"
set yrange [-0.2:1.2]; set ytics 0.2
set label 1 "ReLU" at -0.1, 0.93 right textcolor rgb black
set label 2 "sigmoid" at -2.2, 0.19 right textcolor rgb green
set label 3 "SiLU" at 0.62, 0.74 left textcolor rgb blue
set label 4 "GELU" at 0.75, 1.1 right textcolor rgb vermillion
plot file using 1:5 with lines linetype 3, \
     file using 1:3 with fsteps linetype 7, \
     file using 1:7 with lines linetype 2, \
     file using 1:9 with lines linetype 1
