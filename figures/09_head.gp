# What one head of the trained model looks at, when it has to say who has the red ball.
height = 400
load "figures/style.gp"

file = data."/09_head.dat"
set title "Asked who has the red ball, this head looks at the one it was given to"
set ylabel "weight"
set style fill solid noborder
set boxwidth 0.8
set yrange [0:1.05]
unset key
stats file using 2 nooutput name "W"
set xrange [-1:W_records]
set xtics rotate by 90 right font ",10" scale 0 offset 0, 0.2
set bmargin 5
unset grid
plot file using 1:2:xtic(stringcolumn(3)) with boxes linecolor rgb vermillion
