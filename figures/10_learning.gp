# Bytes per token while a vocabulary is learned: on the stories it is learned from, on unseen stories, on other English.
height = 420
load "figures/style.gp"

file = data."/10_learning.dat"
set title "A vocabulary fits texts like those that it was learned from"
set xlabel "merges"
set ylabel "bytes per token"
set xrange [0:515]
set yrange [0.8:4.2]
set ytics 1
set rmargin 24
unset key
set label "stories of the training text" at 522, 3.95 left textcolor linetype 1
set label "unseen stories" at 522, 3.62 left textcolor linetype 2
set label "other English" at 522, 2.05 left textcolor linetype 3
plot file using 1:2 with lines linetype 1, file using 1:3 with lines linetype 2, file using 1:4 with lines linetype 3
