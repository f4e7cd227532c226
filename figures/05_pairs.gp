# Which elements of a head of 8 turn together, as the kernels do it, and the permutation between the two layouts.
height = 400
load "figures/style.gp"

set style circle nowedge
set style fill empty
set size ratio -1
unset tics
unset border
unset grid
file = data."/05_pairs.dat"
set multiplot layout 1, 2 margins 0.01, 0.99, 0.02, 0.84 spacing 0.02 \
    title "Permuted, half-split rotates the same pairs; not permuted, it rotates others" font ",18"
set xrange [-0.7:7.7]
set yrange [-3.4:4.4]
pair(j) = int(j) / 2 + 1
array sits[8]
stats file index 2 using (sits[int($2) + 1] = $1) nooutput
set label 1 "interleaved" at 3.5, 4.1 center
set label 2 "permuted, half-split" at 3.5, -2.9 center
plot file index 0 using (($1 + $2) / 2):(2.9):(($2 - $1) / 2):(0):(180):(pair($1)) with circles linecolor variable linewidth 2.4, \
     file index 2 using 2:(2.6):($1 - $2):(-2.4):(pair($2)) with vectors nohead linewidth 1.2 linecolor variable, \
     file index 1 using (($1 + $2) / 2):(-0.1):(($2 - $1) / 2):(180):(360):($1 + 1) with circles linecolor variable linewidth 2.4, \
     file index 2 using 2:(2.75):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 2:(2.75):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14", \
     file index 2 using 1:(0.05):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 1:(0.05):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14"
set label 1 "not permuted, half-split" at 3.5, -2.9 center
unset label 2
plot file index 1 using (($1 + $2) / 2):(-0.1):(($2 - $1) / 2):(180):(360) with circles linecolor rgb grey linewidth 1.8, \
     file index 2 using 2:(0.05):(pair($2)) with points pointtype 7 pointsize 2.4 linecolor variable, \
     file index 2 using 2:(0.05):(sprintf("%d", $2)) with labels textcolor rgb "#ffffff" font ",14"
unset multiplot
