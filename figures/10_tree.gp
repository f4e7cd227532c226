# The merges of two words, in the vocabulary of 512 that the lesson learns.
height = 440
load "figures/style.gp"

nodes = data."/10_nodes.dat"
edges = data."/10_edges.dat"
tokens = data."/10_tokens.dat"
set title "“Question” has been merged to one token; “▁umbrella” is still five"
unset border; unset tics; unset grid; unset key
set xrange [-0.7:20]
set yrange [-1.3:4.6]
set lmargin 1; set rmargin 1; set bmargin 0.5
set style textbox opaque noborder margins 1.2, 1.2
merge(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(n)
letter(n) = stringcolumn(n) eq "letter" ? stringcolumn(3) : ""
token(n) = stringcolumn(n) eq "letter" ? "" : stringcolumn(3)
set label "red number: which of the 384 merges it was, 1 the first" at 9.3, 4.25 left textcolor rgb vermillion font ",14"
set label "blue: what two parts have been merged to" at 9.3, 3.8 left textcolor rgb blue font ",14"
set label "green bar: a token, which merges no further" at 9.3, 3.35 left textcolor rgb green font ",14"
set label "1 token" at 3.5, -0.95 center textcolor rgb green font ",14"
set label "5 tokens, with the space ▁ before the word" at 14.5, -0.95 center textcolor rgb green font ",14"
plot tokens using ($1 - 0.36):(-0.5):($2 - $1 + 0.72):(0) with vectors nohead linecolor rgb green linewidth 5, \
     edges using 1:2 with lines linecolor rgb grey linewidth 1.6, \
     nodes using 1:2:(letter(4)) with labels center noenhanced font ",19" boxed textcolor rgb black, \
     nodes using 1:2:(token(4)) with labels center noenhanced font ",19" boxed textcolor rgb blue, \
     nodes using 1:2:(merge(4)) with labels center offset 0, 0.95 font ",13" boxed textcolor rgb vermillion
