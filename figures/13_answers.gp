# The committed run: how far the trained model's probabilities move, and how many questions it answers, by bits.
height = 460
load "figures/style.gp"
rows = "< sed -n '/^== Who shares/,$p' tests/studies/quantized.txt | grep '^  [2-8] '"
set xlabel "bits per quantized value"
set xrange [1.8:8.2]
set xtics 2, 1, 8
set multiplot layout 1, 2 title "Down to 4 bits the answers hold; below that the granularity decides" font ",18"
set ylabel "KL divergence to BF16"
set logscale y
set yrange [3e-6:20]
set format y "10^{%T}"
set ytics 1e-5, 10, 10
set mytics 1
set key off
set label 1 "per tensor" at 3.6, 6 left textcolor linetype 2
set label 2 "per row" at 3.6, 2 left textcolor linetype 3
set label 3 "per group of 32" at 3.6, 0.7 left textcolor linetype 1
plot rows using 1:4 with linespoints linetype 2, \
     rows using 1:3 with linespoints linetype 3, \
     rows using 1:2 with linespoints linetype 1
unset logscale y
set format y "%g %%"
set ylabel "questions answered correctly"
set yrange [0:100]
set ytics 0, 20, 100
unset label
plot rows using 1:9 with linespoints linetype 2, \
     rows using 1:7 with linespoints linetype 3, \
     rows using 1:5 with linespoints linetype 1
unset multiplot
