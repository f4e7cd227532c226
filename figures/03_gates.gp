# The five units over (gate, up). Each is linear in up: out = opening(gate) up. So out reaches a level on the line
# up = level / opening(gate), and is larger beyond it.
height = 640
load "figures/style.gp"

array level[5] = [0.25, 1, 2, 4, 6]
array warm[5] = ["#fcebdf", "#f8cba7", "#ea9459", "#D55E00", "#963f00"]
array cold[5] = ["#e2eff7", "#a9cfe6", "#5aa5d0", "#0072B2", "#004d78"]
array says[5] = ["at most up itself", "both are gates", "shut below 0", "leaks a little", "leaks more"]

# Where out reaches the level for this opening, if that is inside the panel.
line(level, opening) = opening > level / 3.3 ? (level / opening < 3 ? level / opening : 3) : NaN

set title font ",16"
set multiplot layout 2, 3 margins 0.06, 0.98, 0.06, 0.84 spacing 0.08, 0.13 \
    title "The gate decides how much of up passes: swapped, only the bilinear unit gives the same" font ",18"
set xrange [-3:3]
set yrange [-3:3]
set xtics 3 offset 0, 0.4
set ytics 3 offset 0.5, 0
set size ratio -1
set border 15
unset grid
set label 1 "gate" at graph 0.75, -0.08 center textcolor rgb black
set label 2 "up" at graph -0.08, 0.75 center rotate textcolor rgb black
set label 3 "" at 2, -1 point pointtype 7 pointsize 0.7 linecolor rgb black front
set label 4 "" at -1, 2 point pointtype 6 pointsize 0.7 linewidth 1.5 linecolor rgb black front
file = data."/03_gates.dat"
do for [u = 1:5] {
    set title word("GLU Bilinear ReGLU GEGLU SwiGLU", u).": ".says[u]
    o = u + 1
    plot for [i = 1:5] file using 1:(line(level[i], column(o))) with filledcurves y=3 fillcolor rgb warm[i], \
         for [i = 1:5] file using 1:(-line(level[i], -column(o))) with filledcurves y=-3 fillcolor rgb warm[i], \
         for [i = 1:5] file using 1:(-line(level[i], column(o))) with filledcurves y=-3 fillcolor rgb cold[i], \
         for [i = 1:5] file using 1:(line(level[i], -column(o))) with filledcurves y=3 fillcolor rgb cold[i]
}

# The sixth place holds the key.
unset label
unset border
unset tics
set title "the unit's output"
do for [i = 1:5] {
    y = 0.5 * i
    set object i rectangle from -2.6, y - 0.25 to -1.9, y + 0.25 fillcolor rgb warm[i] fillstyle solid noborder
    set object i + 5 rectangle from -2.6, -y - 0.25 to -1.9, -y + 0.25 fillcolor rgb cold[i] fillstyle solid noborder
    set label i gprintf("from %g", level[i]) at -1.6, y
    set label i + 5 gprintf("to −%g", level[i]) at -1.6, -y
}
set label 20 "" at 1.2, 0.5 point pointtype 7 pointsize 0.7 linecolor rgb black
set label 21 "" at 1.2, -0.5 point pointtype 6 pointsize 0.7 linewidth 1.5 linecolor rgb black
set label 22 "(2, −1)" at 1.6, 0.5
set label 23 "(−1, 2)" at 1.6, -0.5
plot NaN
unset multiplot
