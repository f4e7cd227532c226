# A block of Q4_0, of Q8_0 and of Q5_0, byte by byte.
height = 330
load "figures/style.gp"
set title "The bytes of a block: 32 numbers and their scale d"
unset border
unset tics
unset grid
unset xlabel
set xrange [-3.2:34.4]
set yrange [-0.8:7.0]
set style textbox opaque noborder
box(n, x, y, w, h, c) = sprintf("set object %d rectangle from %g, %g to %g, %g fillcolor rgb '%s' fillstyle solid 0.25 border linecolor rgb '%s'", n, x, y, x + w, y + h, c, c)
n = 1
# Q8_0
eval box(n, 0, 5.2, 2, 1.4, vermillion); n = n + 1
do for [j = 0:31] { eval box(n, 2 + j, 5.2, 1, 1.4, blue); n = n + 1 }
set label "Q8\\_0" at -0.4, 5.9 right
set label "d" at 1, 5.9 center
do for [j = 0:31] { set label sprintf("%d", j) at 2.5 + j, 5.9 center font ",12" }
# Q5_0
eval box(n, 0, 2.6, 2, 1.4, vermillion); n = n + 1
eval box(n, 2, 2.6, 4, 1.4, green); n = n + 1
do for [j = 0:15] { eval box(n, 6 + j, 3.3, 1, 0.7, sky); n = n + 1; eval box(n, 6 + j, 2.6, 1, 0.7, blue); n = n + 1 }
set label "Q5\\_0" at -0.4, 3.3 right
set label "d" at 1, 3.3 center
set label "fifth bits" at 4, 3.3 center font ",13"
do for [j = 0:15] { set label sprintf("%d", j + 16) at 6.5 + j, 3.65 center font ",12"; set label sprintf("%d", j) at 6.5 + j, 2.95 center font ",12" }
# Q4_0
eval box(n, 0, 0, 2, 1.4, vermillion); n = n + 1
do for [j = 0:15] { eval box(n, 2 + j, 0.7, 1, 0.7, sky); n = n + 1; eval box(n, 2 + j, 0, 1, 0.7, blue); n = n + 1 }
set label "Q4\\_0" at -0.4, 0.7 right
set label "d" at 1, 0.7 center
do for [j = 0:15] { set label sprintf("%d", j + 16) at 2.5 + j, 1.05 center font ",12"; set label sprintf("%d", j) at 2.5 + j, 0.35 center font ",12" }
set label "34 bytes: 8.5 bits per number" at 34, 4.8 right textcolor rgb grey
set label "22 bytes: 5.5 bits" at 22.4, 3.3 left textcolor rgb grey
set label "18 bytes: 4.5 bits" at 18.4, 0.7 left textcolor rgb grey
set label "each blue column is a byte; where two numbers share a byte, the upper one has the high half" at 0, -0.75 left textcolor rgb grey
plot NaN
