# The loss of the sentence as one weight changes, and the gradient: the slope where the weight is.
height = 380
load "figures/style.gp"
set title "The gradient is the slope of the loss, here and now"
set xlabel "the weight"
set ylabel "loss of the sentence"
set key top left
file = data . "/16_slope.dat"
plot file using 1:2 with lines linetype 1 title "the loss, computed anew for each value", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "what the gradient promises", \
     "" every ::60::60 using 1:2 with points pointtype 7 pointsize 1.2 linecolor rgb black title "the weight as it is"
