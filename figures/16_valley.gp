# Steep across and flat along: plain steps swing from wall to wall, AdamW's run past the lowest point and turn back.
height = 400
load "figures/style.gp"
set title "Two ways down a valley that is steep across and flat along"
set xlabel "along"
set ylabel "across"
set xrange [-1:10.5]
set yrange [-1.15:1.15]
set xzeroaxis linecolor rgb faint
set key top left Left reverse
set label 1 "the lowest point" at -0.1, -0.38
set label 2 "" at 0, 0 point pointtype 7 pointsize 1 linecolor rgb black front
plot data . "/16_plain.dat" using 2:1 with linespoints linetype 2 title "plain steps, 80 of them", \
     data . "/16_adamw.dat" using 2:1 with linespoints linetype 1 title "AdamW, 80 of them"
