# One head of the course's model reads the sentence: the weight that each token gives to each token up to itself.
height = 620
load "figures/style.gp"

file = data."/04_matrices.dat"
set label 2 "Each token attends to earlier tokens: the last “:” to “Anna”, who has the ball" at screen 0.5, 0.965 center font ",18"
set lmargin at screen 0.16
set rmargin at screen 0.84
set bmargin at screen 0.03
set tmargin at screen 0.83
set size ratio -1
set xrange [-0.5:28.5]
set yrange [28.5:-0.5]
set border 15 linecolor rgb faint
set tics scale 0
unset xtics
set x2range [-0.5:28.5]
set x2tics rotate by 90 left offset 0, 0 noenhanced font ",13"
set ytics offset 0.7, 0 noenhanced font ",13"
unset grid
set palette defined (0 "#ffffff", 0.5 sky, 1 "#00304f") maxcolors 20
set cbrange [0:1]
set cbtics font ",13" offset -0.6, 0
set cblabel "attention weight; each row sums to 1" font ",14"
token(n) = stringcolumn(n) eq "\n" ? "↵" : stringcolumn(n)
set label "the future:\nweight 0" at 20.5, 7 center textcolor rgb grey
set object 1 rectangle from 6.4, 27.4 to 7.6, 28.6 front fillstyle empty border linecolor rgb black linewidth 1.5
# A weight below 0.05 is as white as none.
plot file using 2:1:($4 < 0.05 ? NaN : $4) with image pixels, \
     file using 1:1:x2tic(token(5)):ytic(token(5)) every 29 axes x2y1 with points pointtype -1
