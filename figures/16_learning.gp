# A small Llama learns: the loss of each batch, and the norm of its gradients before clipping.
height = 420
load "figures/style.gp"
set title "From nothing: the order of the words first, and then which words are of one kind"
set xlabel "step"
set ylabel "loss of the batch; norm of the gradients"
set xrange [0:200]
set yrange [0:4.5]
set key top right Right noreverse
set arrow 1 from 0, 0.4814 to 200, 0.4814 nohead dashtype 2 linecolor rgb grey
set label 1 "all but who has it: 0.48" at 120, 0.28 textcolor rgb grey
set arrow 2 from 0, 2.8904 to 200, 2.8904 nohead dashtype 2 linecolor rgb grey
set label 2 "18 words, each as likely: 2.89" at 110, 3.05 textcolor rgb grey
plot data . "/16_learning.dat" using 1:2 with lines linetype 1 title "loss", \
     "" using 1:3 with lines linetype 2 linewidth 1.2 title "norm, before it is clipped to 1"
