# The committed run of make train-small: training and validation loss.
height = 380
load "figures/style.gp"
set title "make train-small: the validation loss stays beside the training loss"
set xlabel "step"
set ylabel "loss"
set yrange [0.3:1.1]
set key top right
rows = "< sed -n '/^== Loss/,/^$/p' tests/studies/train_small.txt | awk 'NF > 2 && $1 + 0'"
plot rows using 1:2 with linespoints linetype 1 title "training loss", \
     rows using 1:3 with linespoints linetype 2 title "validation loss"
