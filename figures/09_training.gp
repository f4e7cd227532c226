# The loss of the bundled model while it was trained.
height = 420
load "figures/style.gp"

file = "chapters/09_decoder/stories/train.log"
set title "The first million tokens teach how stories sound, the rest to look things up"
set xlabel "tokens read, in millions"
set ylabel "loss, nats a token"
set yrange [0.3:2]
unset key
plot file using ($1 * 8 * 512 / 1e6):2 with lines linetype 1
