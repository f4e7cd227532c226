# The loss of the bundled model while it was trained: word lists, lessons, stories.
height = 420
load "figures/style.gp"

file = "chapters/09_decoder/stories/train.log"
stats file using 1 nooutput
end = STATS_max
words = 1800
stories = 4050
set title "For 1200 steps it cannot copy, and then, all at once, it can"
set xlabel "step"
set ylabel "loss, nats a token that counts"
set logscale y
set yrange [0.001:8]
set ytics ("0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1)
set xrange [0:end]
set arrow from words, graph 0 to words, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2
set arrow from stories, graph 0 to stories, graph 1 nohead linecolor rgb grey linewidth 1 dashtype 2
set label "word\nlists" at words / 2, graph 0.16 center textcolor rgb grey
set label "lessons" at (words + stories) / 2, graph 0.12 center textcolor rgb grey
set label "stories" at (stories + end) / 2, graph 0.12 center textcolor rgb grey
unset key
plot file using 1:2 with lines linetype 1
