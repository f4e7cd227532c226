# The cosine between the residual stream and what each block adds to it, for each token of the sentence.
height = 470
load "figures/style.gp"

file = data."/09_residual.dat"
set title "Blocks write across the residual stream, and attention often against it"
set ylabel "cosine of contribution and stream"
set xrange [0.5:8.5]
set yrange [-1.3:1]
set ytics -1, 0.5, 1
set xtics ("attention\nlayer 0" 1, "feed-forward\nlayer 0" 2, "attention\nlayer 1" 3, "feed-forward\nlayer 1" 4, "attention\nlayer 2" 5, "feed-forward\nlayer 2" 6, \
           "attention\nlayer 3" 7, "feed-forward\nlayer 3" 8) font ",14"
set grid noxtics
do for [y in "-0.7071 0.7071"] { set arrow from graph 0, first real(y) to graph 1, first real(y) nohead linecolor rgb black linewidth 1.2 dashtype 2 }
set arrow from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb grey linewidth 1
set label "cosine 0.71: an angle of 45°; above it, more along the stream than across" at 0.6, 0.82 left font ",14"
set label "cosine −0.71: 135°" at 0.6, -0.83 left font ",14"
do for [n = 1:4] { set object rectangle from 2 * n - 1.5, graph 0 to 2 * n - 0.5, graph 1 behind fillcolor rgb sky fillstyle solid 0.09 noborder }
set bmargin 4
set key at graph 0.99, graph 0.01 right bottom
plot file using ($1 + 0.3 * ($2 / 28.0 - 0.5)):($2 == 28 ? NaN : $4) with points pointtype 7 pointsize 0.45 linecolor rgb blue title "one token of the sentence", \
     file using ($1 + 0.15):($2 == 28 ? $4 : NaN) with points pointtype 5 pointsize 0.7 linecolor rgb vermillion title "the last token, which predicts Anna"
