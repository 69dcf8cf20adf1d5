# gnuplot -c chart.gnuplot BARS LINES OUT: two panels, the share of the limit by family and time against length.
bars = ARG1
lines = ARG2
ink = "#2b2b2b"
quiet = "#6b6b6b"
faint = "#dcdcdc"
blue = "#2f5d8a"
green = "#5b8f6d"
red = "#a8543a"
peers = "Eigen OpenBLAS oneDNN libtorch 'ONNX Runtime'"
marks = "#f2b134 #59b3ab #dd6b4d #b58cc9 #3f3f46"
most = words(peers)

set terminal svg size 1240,820 font "DejaVu Sans,Helvetica,Arial,sans-serif,13" background "#ffffff" dynamic
set output ARG3
set datafile separator "\t"
set datafile missing "?"
set border 0
set tics nomirror scale 0 textcolor rgb ink font ",12"
set style fill solid 1 noborder
stats bars using 2 nooutput
count = STATS_records
longest = STATS_max > 1 ? ceil(5 * STATS_max) / 5.0 : 1
here = ""  # the peers that have a mark
do for [peer = 1:most] {
    if (int(system(sprintf("cut -f %d '%s' | grep -vc '?'", peer + 3, bars))) > 0) { here = here . sprintf(" %d", peer) }
}
array last_n[4]
array last_time[4]
do for [column = 2:4] {
    stats lines using 1:column nooutput
    last_n[column] = STATS_pos_max_y
    last_time[column] = STATS_max_y
}
set multiplot

# --- A bar for fovea, a mark for each peer.
set lmargin at screen 0.155
set rmargin at screen 0.57
set tmargin at screen 0.84
set bmargin at screen 0.06
set label 1 "Share of what one core can do" at screen 0.02, 0.965 font ",17" textcolor rgb ink
set label 2 "8 heads of 64 features, 2048 positions and float32 where nothing else is said; only visible pairs count" \
    at screen 0.02, 0.932 font ",11" textcolor rgb quiet
set xrange [0:longest]
set xtics 0, 0.2, longest format "%.1f"
set yrange [count - 0.4 : -0.6]
set grid xtics linetype 1 linewidth 1 linecolor rgb faint
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linewidth 1 linecolor rgb quiet
unset key
set object 1 rectangle from screen 0.155, 0.888 to screen 0.168, 0.902 fillcolor rgb blue fillstyle solid noborder
set object 2 rectangle from screen 0.258, 0.888 to screen 0.271, 0.902 fillcolor rgb green fillstyle solid noborder
set label 3 "of the FMA peak" at screen 0.173, 0.895 font ",11" textcolor rgb ink
set label 4 "of the read bandwidth" at screen 0.276, 0.895 font ",11" textcolor rgb ink
place = 0.1595
do for [peer in here] {
    set label 4 + int(peer) word(peers, int(peer)) at screen place + 0.008, 0.868 font ",11" textcolor rgb ink
    set label 4 + most + int(peer) "" at screen place, 0.868 point pointtype 7 pointsize 0.6 linecolor rgb word(marks, int(peer))
    place = place + 0.024 + 0.0065 * strlen(word(peers, int(peer)))
}
plot bars using (0.5 * $2):0:(0.5 * $2):(0.31):ytic(1) with boxxyerror linecolor rgb blue, \
     bars using ($3 == 1 ? 0.5 * $2 : NaN):0:(0.5 * $2):(0.31) with boxxyerror linecolor rgb green, \
     bars using 2:0:(sprintf("%.2f", $2)) with labels left offset 0.5, 0 font ",10" textcolor rgb ink, \
     for [peer in here] bars using (column(int(peer) + 3)):0 with points pointtype 7 pointsize 0.85 linecolor rgb "#ffffff", \
     for [peer in here] bars using (column(int(peer) + 3)):0 with points pointtype 7 pointsize 0.6 linecolor rgb word(marks, int(peer))

# --- Time against length, with each line named where it ends.
unset arrow 1
unset object
do for [entry = 3:4 + 2 * most] { unset label entry }
set lmargin at screen 0.675
set rmargin at screen 0.955
set tmargin at screen 0.9
set label 1 "Time against length" at screen 0.635, 0.965
set label 2 "Milliseconds, 8 heads of 64 features; dashed: the best peer" at screen 0.635, 0.932
name(column) = word("- dense causal window", column)
colour(column) = word(sprintf("- %s %s %s", blue, red, green), column)
do for [column = 2:4] {
    set label column + 1 name(column) at last_n[column], last_time[column] left offset 0.9, 0 font ",12" textcolor rgb colour(column)
}
set xrange [225:12500]
set yrange [*:*] noreverse noextend
set logscale xy
set offsets graph 0, graph 0, graph 0.06, graph 0.06
set xtics ("256" 256, "512" 512, "1024" 1024, "2048" 2048, "4096" 4096, "8192" 8192)
set ytics autofreq format "%g"
set grid xtics ytics linetype 1 linewidth 1 linecolor rgb faint
plot for [column = 2:4] lines using 1:column + 3 with lines dashtype (6, 5) linewidth 1.4 linecolor rgb colour(column), \
     for [column = 2:4] lines using 1:column with linespoints pointtype 7 pointsize 0.55 linewidth 2.4 linecolor rgb colour(column)
unset multiplot
