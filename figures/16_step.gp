# The loss of the example text along the negative gradient: the prediction holds for small steps only.
height = 380
load "figures/style.gp"
set title "Along the negative gradient, the prediction holds for small steps"
set xlabel "learning rate"
set ylabel "loss of the example text"
set yrange [0:*]
set key bottom left
file = data . "/16_step.dat"
plot file using 1:2 with lines linetype 1 title "loss after the step", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "predicted loss"
