# A tiny Llama model learns: the loss of each batch, and the least loss for each kind of knowledge.
height = 420
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
