# The loss of the bundled model while it was trained.
height = 420
load "figures/style.gp"

file = "chapters/09_decoder/stories/train.log"
set title "First the words, then who is who, then who has what"
set xlabel "tokens read, in millions"
set ylabel "loss, nats a token"
set yrange [0.3:2]
unset key
plot file using ($1 * 8 * 512 / 1e6):2 with lines linetype 1
