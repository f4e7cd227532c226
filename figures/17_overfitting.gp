# The tiny model on 64 texts that come again and again, and on new texts in every step.
height = 400
load "figures/style.gp"
set title "Overfitting: the training loss falls on, but the validation loss rises"
set xlabel "step"
set ylabel "loss"
set xrange [0:300]
set yrange [0:1.9]
set key top left
set arrow 1 from 0, 0.441 to 300, 0.441 nohead dashtype 2 linecolor rgb grey
set label 1 "the least possible loss of new texts: 0.44" at 296, 0.36 right textcolor rgb grey font ",14"
file = data . "/17_overfitting.dat"
plot file using 1:3 with lines linetype 2 title "validation loss, trained on 64 texts", \
     file using 1:4 with lines linetype 3 title "validation loss, trained on new texts in every step", \
     file using 1:2 with lines linetype 1 title "training loss of the 64 texts"
