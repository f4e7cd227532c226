# The heads of the trained model: what each attends to from the last token, and what is left without a layer's heads.
height = 460
load "figures/style.gp"

file = data."/09_head.dat"
set title "What each head attends to: only heads of the last layer find Anna"
set xlabel "head" offset -5.5
set bmargin 5.5
set label 2 "in each box: the token with the largest attention weight, and this weight; the more orange, the more weight on Anna" at screen 0.5, screen 0.045 center font ",14"
set ylabel "layer"
set xrange [-0.5:6.9]
set yrange [-0.5:3.75]
set xtics 0,1,5
set ytics 0,1,3
unset border; unset grid
set tics scale 0
set cbrange [0:1]
set palette defined (0 "#f4f4f4", 1 "#ee8a3c")
unset colorbox
set style fill solid border linecolor rgb "#ffffff"
unset key
set termoption noenhanced
set label 1 "without this\nlayer's heads:" at 6.2, 4.02 center font ",13"
end_of_line(name) = name eq "\n" ? "↵" : name # it would begin a new line of the label
first_of_layer(head, x) = head == 0 ? x : NaN
plot file using 2:1:(0.47):(0.46):4 with boxxyerror linewidth 1 fillcolor palette, \
     file using 2:($1 + 0.12):(end_of_line(strcol(6))) with labels font ",15", \
     file using 2:($1 - 0.2):(sprintf("%.2f", $3)) with labels font ",13", \
     file using (first_of_layer($2, 6.2)):1:(sprintf("Anna %.2f", $5)) with labels font ",15" textcolor rgb vermillion
