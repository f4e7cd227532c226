# Multiply-adds in time: with one accumulator each waits for the one before, with eight there is always one that need not.
height = 470
load "figures/style.gp"
set title "One accumulator waits for itself; eight keep both multipliers busy"
set xlabel "cycle"
set xrange [-4.4:16.2]
set yrange [15.4:-1.2]
set xtics ("0" 0, "4" 4, "8" 8, "12" 12, "16" 16)
unset ytics
unset grid
unset key
set border 1
set lmargin 1
set rmargin 1
n = 0
bar(x, y, fill, dim) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front fillcolor rgb '%s' fillstyle solid %g border linecolor rgb '#ffffff' linewidth 1.5", x + 0.06, y + 0.06, x + 3.94, y + 0.94, fill, dim)
name(text, y) = sprintf("set label '%s' at -0.4,%g right front textcolor rgb black", text, y)
eval name("one accumulator", 1.5)
do for [i = 0:3] { eval bar(4 * i, 1, vermillion, 1) }
set label "4 multiply-adds in 16 cycles" at 0, 0.2 left textcolor rgb vermillion
set label "32 can begin in 16 cycles: two in each" at 0, 4 left textcolor rgb blue
do for [a = 0:7] {
    eval name(sprintf("%d", a + 1), 5.6 + 1.15 * a)
    start = floor(a / 2)
    do for [i = 0:3] { if (start + 4 * i + 4 < 16.5) { eval bar(start + 4 * i, 5.1 + 1.15 * a, i == 0 ? blue : sky, 1) } else { eval bar(start + 4 * i, 5.1 + 1.15 * a, sky, 1) } }
}
set object 200 rectangle from 16.02, -0.5 to 20, 15 front fillcolor rgb "#ffffff" fillstyle solid noborder
set label "eight" at -1.4, 5.6 right textcolor rgb black
plot NaN
