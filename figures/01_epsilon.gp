# The size with which a row of a given size leaves RMSNorm, for the ways that epsilon is written.
height = 400
load "figures/style.gp"
set title "Only with ε under the root does a small vector stay small"
set logscale x
set xrange [1e-4:1]
set yrange [0:2.5]
set format x "10^{%L}"
set xlabel "RMS of a vector"
set ylabel "its RMS after RMSNorm"
set arrow 1 from sqrt(1e-5), 0 to sqrt(1e-5), 2.5 nohead linecolor rgb grey dashtype 2 linewidth 1.2
set label 1 "√ε, with ε = 10^{-5}" at 2.9e-3, 2.3 right textcolor rgb black
set label 2 "minus ε, and NaN left of the dashes" at 4.6e-3, 1.6 left textcolor rgb vermillion
set label 3 "ε under the root" at 3.8e-3, 0.6 left textcolor rgb blue
set label 4 "ε outside the root" at 1.1e-4, 0.78 left textcolor rgb green
plot data . "/01_epsilon.dat" using 1:2 with lines linetype 1, \
     "" using 1:4 with lines linetype 3, \
     "" using 1:3 with lines linetype 2
