# A valley, steep across and flat along: gradient descent swings from wall to wall, AdamW overshoots the lowest point and turns back.
height = 400
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
