# The probabilities of the next token, the likeliest first, at three temperatures.
height = 420
load "figures/style.gp"

file = data."/11_temperature.dat"
set title "Temperature tilts the line: cold favours the first, hot gives the last a chance"
set xlabel "rank of the token"
set ylabel "probability"
set logscale y
set format y "10^{%T}"
set xrange [1:46]
set key at graph 0.98, graph 0.5 right
plot file using 1:2 with linespoints linetype 1 title "temperature 0.5", \
     file using 1:3 with linespoints linetype 3 title "1, as the model says", \
     file using 1:4 with linespoints linetype 2 title "2"
