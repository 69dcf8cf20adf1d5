# gnuplot -c chart.gnuplot KERNELS LEVELS OUT: three panels, the speed on each level, the share of the peak, the unit.
kernels = ARG1
ink = "#2b2b2b"
quiet = "#6b6b6b"
faint = "#dcdcdc"
blue = "#2f5d8a"
red = "#a8543a"
tones = "#a8c6e0 #5b93c4 #1f4b75 #a8543a"

set terminal svg size 1240,830 font "DejaVu Sans,Helvetica,Arial,sans-serif,13" background "#ffffff" dynamic noenhanced
set output ARG3
set datafile separator "\t"
set datafile missing "?"
set border 0
set tics nomirror scale 0 textcolor rgb ink font ",12"
set style fill solid 1 noborder
stats kernels using 0 nooutput
count = STATS_records
levels = int(system(sprintf("wc -l < '%s'", ARG2)))
level_name(i) = system(sprintf("sed -n %dp '%s' | cut -f 1", i, ARG2))
tone(i) = word(tones, i)
set yrange [count - 0.4 : -0.6]
set multiplot

# --- A filled mark for a kernel, a ring for its plain loop, on each level.
set lmargin at screen 0.125
set rmargin at screen 0.6
set tmargin at screen 0.875
set bmargin at screen 0.05
set label 1 "Speed of one thread" at screen 0.02, 0.965 font ",17" textcolor rgb ink
set label 2 "GFLOP/s; 8 heads of 64 features and 512 positions; decode: 1 query, 4096 keys; graphs: 20000 nodes, 8 edges each" \
    at screen 0.02, 0.935 font ",11" textcolor rgb quiet
set logscale x
set xrange [0.05:200]
set xtics ("0.1" 0.1, "0.3" 0.3, "1" 1, "3" 3, "10" 10, "30" 30, "100" 100)
set grid xtics linetype 1 linewidth 1 linecolor rgb faint
unset key
place = 0.125
do for [i = 1:levels] {
    set label 10 + i level_name(i) at screen place + 0.01, 0.9 font ",11" textcolor rgb ink
    set label 20 + i "" at screen place, 0.9 point pointtype 7 pointsize 0.75 linecolor rgb tone(i)
    place = place + 0.035 + 0.0065 * strlen(level_name(i))
}
set label 30 "filled: fovea; ring: the plain loop, same flags" at screen place + 0.01, 0.9 font ",11" textcolor rgb ink
set label 31 "" at screen place, 0.9 point pointtype 6 pointsize 0.7 linewidth 1.5 linecolor rgb tone(levels)
plot kernels using (column(levels + 5)):0:(column(levels + 1) - column(levels + 5)):(0) with vectors nohead linewidth 1 linecolor rgb faint, \
     for [i = 1:levels] kernels using (column(i + 5)):0:ytic(1) with points pointtype 6 pointsize 0.7 linewidth 1.5 linecolor rgb tone(i), \
     for [i = 1:levels] kernels using (column(i + 1)):0 with points pointtype 7 pointsize 0.75 linecolor rgb tone(i)

# --- The share of the peak at the best level.
do for [entry = 10:31] { unset label entry }
unset logscale x
set lmargin at screen 0.64
set rmargin at screen 0.79
set label 1 "Share of the limit" at screen 0.64, 0.965
set label 2 "at the best level" at screen 0.64, 0.935
set object 1 rectangle from screen 0.64, 0.894 to screen 0.65, 0.906 fillcolor rgb blue fillstyle solid noborder
set object 2 rectangle from screen 0.71, 0.894 to screen 0.72, 0.906 fillcolor rgb red fillstyle solid noborder
set label 3 "FMA peak" at screen 0.654, 0.9 font ",11" textcolor rgb ink
set label 4 "read bandwidth" at screen 0.724, 0.9 font ",11" textcolor rgb ink
set xrange [0:1]
set xtics 0, 0.5, 1 format "%.1f"
set ytics format ""
plot kernels using (0.5 * column(10)):0:(0.5 * column(10)):(0.31) with boxxyerror linecolor rgb blue, \
     kernels using (column(11) == 1 ? 0.5 * column(10) : NaN):0:(0.5 * column(10)):(0.31) with boxxyerror linecolor rgb red, \
     kernels using 10:0:(sprintf("%.2f", column(10))) with labels left offset 0.5, 0 font ",10" textcolor rgb ink

# --- What a unit is.
unset object
unset label 3
unset label 4
set lmargin at screen 0.83
set rmargin at screen 0.94
set label 1 "Code of the unit" at screen 0.83, 0.965
set label 2 "KiB, and seconds to compile" at screen 0.83, 0.935
set xrange [0:*]
set xtics 0, 25 format "%g"
plot kernels using (0.5 * column(12)):0:(0.5 * column(12)):(0.31) with boxxyerror linecolor rgb "#5b8f6d", \
     kernels using 12:0:(sprintf("%.1f s", column(13))) with labels left offset 0.5, 0 font ",10" textcolor rgb ink
unset multiplot
