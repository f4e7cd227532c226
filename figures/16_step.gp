# The loss of the sentence as all weights go down along the gradient: the promise holds for a small step alone.
height = 380
load "figures/style.gp"
set title "Down along the gradient: the promise holds for a small step"
set xlabel "rate: how many gradients are subtracted"
set ylabel "loss of the sentence"
set yrange [0:*]
set key bottom left
file = data . "/16_step.dat"
plot file using 1:2 with lines linetype 1 title "the loss found", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "the loss promised"
