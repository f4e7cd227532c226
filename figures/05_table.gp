# Between which distances each of the 64 pairs of a head of 128, theta 10000, has turned by an eighth and by a whole turn.
height = 460
load "figures/style.gp"

set title "Fast pairs distinguish near tokens, slow pairs distinguish far ones"
set xlabel "pair i, from the fastest to the slowest"
set ylabel "how far apart two tokens are, in tokens"
set xrange [0:63]
set yrange [0.5:100000]
set xtics ("0" 0, "16" 16, "32" 32, "48" 48, "63" 63)
set logscale y
set ytics ("1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4)
unset grid
set arrow 1 from 0, 1 to 63, 1 nohead linecolor rgb grey linewidth 1 dashtype 2 front
set arrow 2 from 0, 1000 to 63, 1000 nohead linecolor rgb grey linewidth 1 dashtype 2 front
set label 1 "more than one rotation: ambiguous" at 14, 12000 center textcolor rgb black
set label 2 "hardly rotated: no difference" at 47, 10 center textcolor rgb black
set label 3 "rotated, less than once: told apart" at 27, 95 center rotate by 17.5 textcolor rgb "#ffffff" front
set label 4 "tokens 3 and 4" at 62.5, 1.4 right textcolor rgb grey front
set label 5 "tokens 3000 and 4000" at 0.6, 1400 left textcolor rgb grey front
plot data."/05_table.dat" using 1:2:3 with filledcurves linecolor rgb blue
