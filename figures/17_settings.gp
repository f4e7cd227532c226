# The committed study of the hyperparameters of a tiny model: the loss at the end, with the range of four seeds.
height = 560
load "figures/style.gp"
ends = "< sed -n '/^== How it ends/,/^== On/p' tests/studies/hyperparameters.txt | awk 'NF > 7 && $NF + 0 { name = $1; " . \
       "for (i = 2; i <= NF - 7; i++) name = name \" \" $i; gsub(\"rubbish\", \"corrupted batches\", name); printf \"\\\"%s\\\" %s %s %s\\n\", name, $(NF - 5), $(NF - 4), $(NF - 3) }'"
set title "One hyperparameter changed: the learning rate matters most"
set lmargin at screen 0.27
set rmargin at screen 0.95
set xlabel "loss after 600 steps: mean of four seeds, and the range from best to worst"
set key off
set xrange [0.48:0.66]
set xtics 0.5, 0.05, 0.65
set yrange [15.6:-0.6]
set ytics autofreq font ",14"
set arrow 1 from 0.497, -0.6 to 0.497, 15.6 nohead dashtype 2 linecolor rgb grey
plot ends using 2:0:3:4:ytic(1) with xerrorbars linetype 1
