# The loss of the course's model while it was trained: word lists, lessons, stories.
height = 420
load "figures/style.gp"

file = "common/stories/train.log"
stats file using 1 nooutput
end = STATS_max
words = 1400
stories = 2900
together = 9200
set title "First it is drilled to copy, then to look up, and only then come stories"
set xlabel "step"
set ylabel "loss of a token that counts"
set logscale y
set yrange [0.001:30]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1)
set xrange [0:end]
set object rectangle from 0, graph 0 to words, graph 1 behind fillcolor rgb orange fillstyle solid 0.12 noborder
set object rectangle from words, graph 0 to stories, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label "word lists,\nto copy" at 60, 16 left font ",14"
set label "20 lessons of\nlook-ups" at words + 90, 16 left font ",14"
set label "stories, among them some lessons:\nno token sees the story before its own" at stories + 150, 16 left font ",14"
set label "suddenly\nit can\ncopy  →" at 60, 0.2 left textcolor rgb black font ",13"
set label "from here\nit does" at together + 60, 16 left font ",14"
set arrow from together, graph 0 to together, graph 1 nohead linecolor rgb grey dashtype 2
unset key
plot file using 1:2 with lines linetype 1
