# The heads of the trained model: where each looks from the last token, and how likely the answer is without it.
height = 430
load "figures/style.gp"

file = data."/09_head.dat"
set title "Silence one head for the whole text: how likely is the answer then?"
set xlabel "head"
set ylabel "layer"
set xrange [-0.5:5.5]
set yrange [-0.5:3.5]
set xtics 0,1,5
set ytics 0,1,3
unset border; unset grid
set tics scale 0
set cbrange [0:1]
set cblabel "probability of Anna without this head"
set cbtics 0.25
set palette defined (0 "#ee8a3c", 1 "#f4f4f4")
set style fill solid border linecolor rgb "#ffffff"
unset key
set termoption noenhanced
end_of_line(name) = name eq "\n" ? "\\\\n" : name # it would begin a new line of the label
plot file using 2:1:(0.47):(0.46):4 with boxxyerror linewidth 1 fillcolor palette, \
     file using 2:($1 + 0.12):(sprintf("%s %.2f", end_of_line(strcol(5)), $3)) with labels font ",14", \
     file using 2:($1 - 0.2):(sprintf("without: %.2f", $4)) with labels font ",13"
