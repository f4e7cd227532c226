# The probabilities of the next token, the most likely first, at three temperatures.
height = 440
load "figures/style.gp"
file = data."/11_next.dat"
set title "The higher the temperature T, the flatter the line: all slopes are divided by T"
set ylabel "probability"
set logscale y
set grid noxtics
set mytics 1
set yrange [3e-9:1]
set format y "10^{%T}"
set xrange [0.5:40.5]
set xtics rotate by 60 right font ",14"
set bmargin 5
set key at graph 0.02, graph 0.06 left bottom
set arrow from 31.5, 3e-9 to 31.5, 1 nohead linewidth 1.2 linecolor rgb grey dashtype 2
set label "mostly invalid" at 31.9, 0.4 left textcolor rgb grey
set label "the 31 most likely tokens: as many as are valid" at 31.1, 0.4 right textcolor rgb grey
quote(name) = strlen(name) ? name : "\"" # gnuplot takes a quotation mark for the beginning of a text
plot file using 1:6:xtic(quote(strcol(8))) with linespoints linetype 2 title "temperature 2", \
     file using 1:4 with linespoints linetype 3 title "1, as the model says", \
     file using 1:2 with linespoints linetype 1 title "temperature 0.5"
