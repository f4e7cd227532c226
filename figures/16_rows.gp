# The gradient of the loss for the answer Mia, with respect to every hidden state at every stage of the residual stream.
height = 460
load "figures/style.gp"
set title "Hidden states that decide the answer: from the last token back to those it attends to"
unset border; unset grid; unset key
set tics scale 0
set xrange [-0.5:28.5]
set yrange [-0.5:8.5]
set ytics ("embedding" 0, "layer 0 attention" 1, "layer 0 feed-forward" 2, "layer 1 attention" 3, "layer 1 feed-forward" 4, \
    "layer 2 attention" 5, "layer 2 feed-forward" 6, "layer 3 attention" 7, "layer 3 feed-forward" 8) font ",14"
set lmargin 18
set xtics rotate by 60 right font ",14"
set palette defined (0 "#ffffff", 0.35 "#f6c9a0", 1 "#D55E00")
set cblabel "largest change of the loss for a change of 1 %"
set style fill solid border linecolor rgb "#ffffff"
set bmargin 3.5
file = data . "/16_rows.dat"
token(n) = stringcolumn(n) eq "\n" ? "↵" : stringcolumn(n)
plot file using 2:1:(0.48):(0.48):3 with boxxyerror linewidth 1 fillcolor palette, \
     file every :::0::0 using 2:(-0.5):xticlabels(token(4)) with points pointtype 0 linecolor rgb "#ffffff"
