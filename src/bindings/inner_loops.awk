# The inner loops of a unit, from `objdump --disassemble --demangle --line-numbers --no-show-raw-insn`: those that compute
# with vectors and hold no other loop, with what they are made of and the lines of the sources they come from.
function flush_function(    i, j, at, loops, first, last, inner) {
    loops = 0
    for (i = 1; i <= count; ++i) {
        if (target[i] == "" || !(target[i] in place) || place[target[i]] > i) continue
        first[++loops] = place[target[i]]
        last[loops] = i
    }
    for (i = 1; i <= loops; ++i) {
        inner = 1
        for (j = 1; j <= loops && inner; ++j)
            inner = j == i || first[j] < first[i] || last[j] > last[i] || (first[j] == first[i] && last[j] == last[i])
        if (inner) print_loop(first[i], last[i])
    }
    delete place
    count = 0
}
function print_loop(first, last,    i, products, others, loads, stores, moves) {
    products = others = loads = stores = moves = 0
    for (i = first; i <= last; ++i) {
        if (text[i] ~ /^ret/) return  # a jump back to what ends the function
        if (text[i] ~ /^(vf[n]?m(add|sub)[0-9]*p[sd]|vdpbf16ps|fml[as]|bfdot)/) ++products
        else if (text[i] ~ /^(v?(mul|add|sub|max|min|div|sqrt)p[sd]|f(mul|add|sub|max|min|div))/) ++others
        if (text[i] ~ /^(v?(perm|shuf|unpck|broadcast|blend|cvt|insert|extract)|zip|uzp|trn|tbl|dup)/) ++moves
        if (text[i] ~ /^v?mov[a-z0-9]*p?[sd]? .*,.*\(|^(st[rp]|st1)/ && text[i] ~ /\)$|^st/) ++stores
        else if (text[i] ~ /\(|^ld/) ++loads
    }
    if (products + others == 0) return
    printf "\n%s\n  %d instructions: %d multiply-adds, %d other operations of vectors, %d loads, %d stores, %d moves of lanes\n", \
        name, last - first + 1, products, others, loads, stores, moves
    ++printed
    before = ""
    for (i = first; i <= last; ++i) {
        if (source[i] != before) print "    ; " source[i]
        before = source[i]
        print "      " text[i]
    }
}
/^[0-9a-f]+ <.*>:$/ {
    flush_function()
    name = $0
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    gsub(/fovea::set_[0-9a-f]+::/, "fovea::", name)
    next
}
/^[^ ].*:[0-9]+( \(discriminator [0-9]+\))?$/ {
    line = $0
    sub(/ \(discriminator.*/, "", line)
    sub(/.*\/(include|\.\.)\//, "", line)
    next
}
/^ *[0-9a-f]+:\t/ {
    address = $1
    sub(/:$/, "", address)
    ++count
    place[address] = count
    text[count] = $0
    sub(/^ *[0-9a-f]+:\t/, "", text[count])
    sub(/ *# [0-9a-f]+ <.*/, "", text[count])
    source[count] = line
    target[count] = ""
    if (text[count] ~ /^(j[a-z]+|b|b\.[a-z]+|cbn?z|tbn?z) /) {
        jump = text[count]
        sub(/ <.*/, "", jump)
        sub(/.*[ ,]/, "", jump)
        target[count] = jump
        sub(/ <.*/, "", text[count])
    }
}
END {
    flush_function()
    printf "\n%d inner loops\n", printed
}
