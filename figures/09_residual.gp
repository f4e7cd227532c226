# What each half of a layer adds to the stream: along it or against it, for each token of the sentence.
height = 420
load "figures/style.gp"

file = data."/09_residual.dat"
set title "Every addition goes more across the stream than along it, and some go against it"
set ylabel "cosine between stream and addition"
set xrange [0.5:8.5]
set yrange [-1:1]
set ytics 0.5
set xtics ("attention\nlayer 0" 1, "feed-forward\nlayer 0" 2, "attention\nlayer 1" 3, "feed-forward\nlayer 1" 4, "attention\nlayer 2" 5, "feed-forward\nlayer 2" 6, \
           "attention\nlayer 3" 7, "feed-forward\nlayer 3" 8) font ",14"
set arrow from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb grey linewidth 1
set bmargin 4
set key at graph 0.99, graph 0.02 right bottom
plot file using ($1 + 0.3 * ($2 / 28.0 - 0.5)):4 with points pointtype 7 pointsize 0.45 linecolor rgb sky title "each token of the sentence", \
     file using ($1 + 0.15):($2 == 28 ? $4 : NaN) with points pointtype 5 pointsize 0.7 linecolor rgb vermillion title "the last one, from which the answer is read"
