# The merges of two words, in the vocabulary of 512 that the lesson learns.
height = 400
load "figures/style.gp"

nodes = data."/10_nodes.dat"
edges = data."/10_edges.dat"
tokens = data."/10_tokens.dat"
set title "Small numbers merge first: “Question” has become one token, “umbrella” is still five"
unset border; unset tics; unset grid; unset key
set xrange [-0.7:20]
set yrange [-0.7:4.5]
set lmargin 1; set rmargin 1; set bmargin 0.5
set style textbox opaque noborder margins 1.2, 1.2
merge(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(n)
letter(n) = stringcolumn(n) eq "letter" ? (stringcolumn(3) eq "▁" ? "␣" : stringcolumn(3)) : ""
token(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(3)
set label "below the letters: a bar for each token" at 20, 4 right textcolor rgb green font ",15"
plot tokens using ($1 - 0.36):(-0.45):($2 - $1 + 0.72):(0) with vectors nohead linecolor rgb green linewidth 5, \
     edges using 1:2 with lines linecolor rgb grey linewidth 1.6, \
     nodes using 1:2:(letter(4)) with labels center noenhanced font ",19" boxed textcolor rgb black, \
     nodes using 1:2:(token(4)) with labels center noenhanced font ",19" boxed textcolor rgb blue, \
     nodes using 1:2:(merge(4)) with labels center offset 0, 0.95 font ",13" boxed textcolor rgb vermillion
