# The loss of the course's model during training: word lists and look-ups, then stories on a scale of their own.
height = 440
load "figures/style.gp"

file = "common/stories/train.log"
lists = 1400
lookups = 2900
unmasked = 9200
set multiplot title "Copying is learned within fifty steps, stories over thousands" font ",18"
set title font ",15" offset 0, -0.6
unset key

set size 0.52, 0.94
set origin 0, 0
set lmargin 8; set rmargin 1
set title "exercises (logarithmic)"
set xlabel "step"
set ylabel "loss"
set logscale y
set yrange [0.001:30]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1)
set xrange [0:lookups + 100]
set xtics 0, 1000
set object 1 rectangle from 0, graph 0 to lists, graph 1 behind fillcolor rgb orange fillstyle solid 0.12 noborder
set object 2 rectangle from lists, graph 0 to lookups, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label 1 "copy word lists" at 60, 14 left font ",14"
set label 2 "look up facts:\n20 kinds of texts" at lists + 60, 14 left font ",14"
set label 3 "step 1200: 2.10\nstep 1250: 0.04" at 60, 0.11 left font ",14"
set arrow 1 from 900, 0.16 to 1190, 0.4 linewidth 1.2 linecolor rgb grey size screen 0.01, 25 filled
plot file using ($1 <= lookups ? $1 : NaN):2 with lines linetype 1

unset object 1; unset object 2; unset label 1; unset label 2; unset label 3; unset arrow 1
set size 0.48, 0.94
set origin 0.52, 0
set title "stories (linear, from 0.3 to 0.6)"
unset logscale y
unset ylabel
set lmargin 6; set rmargin 2
set yrange [0.3:0.6]
set ytics 0.3, 0.1
set format y "%.1f"
set xrange [3000:10300]
set xtics 4000, 2000
set object 3 rectangle from unmasked, graph 0 to 10300, graph 1 behind fillcolor rgb green fillstyle solid 0.12 noborder
set label 4 "masked: each token sees\nonly its own story" at 3400, 0.57 left font ",14"
set label 5 "no\nmask" at unmasked + 80, 0.57 left font ",14"
plot file using ($1 >= 3000 ? $1 : NaN):2 with lines linetype 1
unset multiplot
