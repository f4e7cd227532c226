# A valley, steep across and flat along: gradient descent swings from wall to wall, AdamW overshoots the lowest point and turns back.
figure = "17_valley"; height = 400
load "figures/style.gp"
set title "Gradient descent swings from wall to wall; AdamW overshoots the lowest point and turns back"
set xlabel "along the valley"
set ylabel "across the valley"
set xrange [-1:10.5]
set yrange [-1.15:1.15]
unset grid
set label 1 "the lowest point" at -0.1, -0.38 front
set label 3 "80 steps of gradient descent" at 8.7, -0.98 right front textcolor rgb vermillion
set label 4 "80 steps of AdamW" at 4.9, 0.42 center front textcolor rgb blue
set style textbox opaque noborder
set label 5 "grey: lines of equal loss" at -0.9, 1.03 left front boxed textcolor rgb grey
STEEP = 50 # the loss is (STEEP across^2 + along^2) / 2
same(r, along) = abs(along) <= r ? sqrt(r**2 - along**2) / sqrt(STEEP) : NaN # across, where the loss is r^2 / 2
set samples 1000
set label 2 "" at 0, 0 point pointtype 7 pointsize 1 linecolor rgb black front
plot for [r = 1:12] same(r, x) with lines linecolor rgb faint linewidth 1, \
     for [r = 1:12] -same(r, x) with lines linecolor rgb faint linewidth 1, \
     data . "/17_plain.dat" using 2:1 with linespoints linetype 2, \
     data . "/17_adamw.dat" using 2:1 with linespoints linetype 1


# The learning rate schedule: linear warm-up, half a cosine down, and then the lowest rate.
figure = "17_schedule"; height = 340
load "figures/style.gp"
set title "Learning rate schedule: 50 steps of warm-up, half a cosine down to a tenth"
set xlabel "step"
set ylabel "learning rate, divided by its peak"
set xrange [0:1100]
set yrange [0:1.2]
set label 1 "warm-up" at 60, 0.35 textcolor linetype 1
set label 2 "peak" at 60, 1.09 textcolor linetype 1
set label 3 "lowest rate" at 1010, 0.17 textcolor linetype 1
plot data . "/17_schedule.dat" using 1:2 with lines linetype 1


# A tiny Llama model learns: the loss of each batch, and the least loss for each kind of knowledge.
figure = "17_learning"; height = 420
load "figures/style.gp"
set title "The kinds of words are learned in 25 steps; looking up names takes hundreds"
set xlabel "step"
set ylabel "loss of the batch"
set logscale xy
set xrange [1:300]
set yrange [0.37:4]
set ytics (1, 2, 3)
set xtics (1, 3, 10, 30, 100, 300)
set grid noxtics
set arrow 1 from 1, 2.890 to 300, 2.890 nohead dashtype 2 linecolor rgb grey
set arrow 2 from 1, 0.632 to 300, 0.632 nohead dashtype 2 linecolor rgb grey
set arrow 3 from 1, 0.482 to 300, 0.482 nohead dashtype 2 linecolor rgb grey
set arrow 4 from 1, 0.441 to 300, 0.441 nohead dashtype 2 linecolor rgb grey
set label 1 "all 18 words equally likely: 2.89" at 20, 2.65 textcolor rgb grey
set label 2 "the kind of each word is known: 0.63" at 1.1, 0.69 textcolor rgb grey
set label 3 "also which names and things were mentioned: 0.48" at 1.1, 0.52 textcolor rgb grey
set label 4 "also who has what: 0.44" at 1.1, 0.41 textcolor rgb grey
plot data . "/17_learning.dat" using 1:2 with lines linetype 1


# The tiny model on 64 texts that come again and again, and on new texts in every step.
figure = "17_overfitting"; height = 400
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


# The committed run of make train-small: training and validation loss.
figure = "17_stories"; height = 380
load "figures/style.gp"
set title "make train-small: the validation loss stays beside the training loss"
set xlabel "step"
set ylabel "loss"
set yrange [0.3:1.1]
set key top right
rows = "< sed -n '/^== Loss/,/^$/p' tests/studies/train_small.txt | awk 'NF > 2 && $1 + 0'"
plot rows using 1:2 with linespoints linetype 1 title "training loss", \
     rows using 1:3 with linespoints linetype 2 title "validation loss"


# The committed study of the hyperparameters of a tiny model: the loss at the end, with the range of four seeds.
figure = "17_settings"; height = 560
load "figures/style.gp"
ends = "< sed -n '/^== How it ends/,/^== On/p' tests/studies/hyperparameters.txt | awk 'NF > 7 && $NF + 0 { name = $1; " . \
       "for (i = 2; i <= NF - 7; i++) name = name \" \" $i; gsub(\"rubbish\", \"corrupted batches\", name); printf \"\\\"%s\\\" %s %s %s\\n\", name, $(NF - 5), $(NF - 4), $(NF - 3) }'"
set title "One hyperparameter changed: the learning rate matters most"
set lmargin at screen 0.27
set rmargin at screen 0.95
set xlabel "loss after 600 steps: mean of four seeds, and the range from best to worst"
set key off
set xrange [0.48:0.66]
set xtics 0.5, 0.05, 0.65
set yrange [15.6:-0.6]
set ytics autofreq font ",14"
set arrow 1 from 0.497, -0.6 to 0.497, 15.6 nohead dashtype 2 linecolor rgb grey
plot ends using 2:0:3:4:ytic(1) with xerrorbars linetype 1
