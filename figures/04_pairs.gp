# Which elements of a head of 8 turn together, as the kernels do it.
height = 330
load "figures/style.gp"

set title "Two layouts: neighbours turn together, or the halves do"
set style circle nowedge
set style fill empty
set xrange [-3.2:7.6]
set yrange [-0.75:4.0]
set size ratio -1
unset tics
unset border
unset grid
set label "interleaved" at -1.0, 2.9 right
set label "(2i, 2i + 1)" at -1.0, 2.5 right textcolor rgb grey
set label "half-split" at -1.0, 0.4 right
set label "(i, i + D/2)" at -1.0, 0.0 right textcolor rgb grey
file = data."/04_pairs.dat"
row(layout) = layout == 0 ? 2.6 : 0.1
pair(layout, j) = layout == 0 ? j / 2 : j
plot file using (($2 + $3) / 2):(row($1)):(($3 - $2) / 2):(0):(180):(pair($1, $2) + 1) with circles linecolor variable linewidth 2.4, \
     for [end = 2:3] file using end:(row($1)):(pair($1, $2) + 1) with points pointtype 7 pointsize 2.6 linecolor variable, \
     for [end = 2:3] file using end:(row($1)):(sprintf("%d", column(end))) with labels textcolor rgb "#ffffff" font ",15"
