# One head of the course's model reads the sentence: its scores, without the future, and the weights that softmax makes of them.
height = 440
load "figures/style.gp"

file = data."/05_matrices.dat"
set multiplot layout 1, 2 margins 0.075, 0.925, 0.035, 0.83 spacing 0.16 \
    title "Each row looks back: the last “:” looks at “Anna”, who has the ball" font ",18"
set size ratio -1
set xrange [-0.5:28.5]
set x2range [-0.5:28.5]
set yrange [28.5:-0.5]
set border 15 linecolor rgb faint
set tics scale 0
unset xtics
set x2tics rotate by 90 left offset 0, 0 noenhanced font ",10"
set ytics offset 0.7, 0 noenhanced font ",10"
unset grid
set colorbox
set cbtics font ",12" offset -0.8, 0
token(n) = stringcolumn(n) eq "\n" ? "↵" : stringcolumn(n)
set label 1 "future:\nno score" at 20, 7 center textcolor rgb grey font ",13"
set object 1 rectangle from 6.4, 27.4 to 7.6, 28.6 front fillstyle empty border linecolor rgb black linewidth 1.5
set label 2 "scores, q · k / √D" at graph 0.5, 1.19 center font ",16"
set cbrange [-12:12]
plot file using 2:1:($2 > $1 ? NaN : $3) with image pixels, \
     file using 1:1:x2tic(token(5)):ytic(token(5)) every 29 axes x2y1 with points pointtype -1
set label 1 "future:\nweight 0"
set label 2 "weights, each row sums to 1"
set palette defined (0 "#ffffff", 0.5 sky, 1 "#00304f")
set cbrange [0:1]
plot file using 2:1:($2 > $1 ? NaN : $4) with image pixels, \
     file using 1:1:x2tic(token(5)):ytic(token(5)) every 29 axes x2y1 with points pointtype -1
unset multiplot
