# The loss of the example text as one weight changes, and the gradient: the slope at the current weight.
height = 380
load "figures/style.gp"
set title "The gradient is the slope of the loss at the current weight"
set xlabel "weight"
set ylabel "loss of the example text"
set key top left
file = data . "/16_slope.dat"
plot file using 1:2 with lines linetype 1 title "loss, computed for each value", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "tangent, whose slope is the gradient", \
     "" every ::60::60 using 1:2 with points pointtype 7 pointsize 1.2 linecolor rgb black title "current weight"
