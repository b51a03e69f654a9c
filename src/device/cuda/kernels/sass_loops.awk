# SPDX-License-Identifier: Apache-2.0
# sass_loops.awk LIST DISASSEMBLY: a row of sass.txt for each line of LIST (sass.sh has it) whose kernel is in what
# nvdisasm wrote, with demangled names. A loop is a backward branch and its target. The row's loop has all opcodes that
# the line asks for, and no loop in it has them; of several it is that with the widest load from global memory, and of
# these the longest unrolled: fallbacks and remainders are beside it.

BEGIN { asked = 0 }

function opcode_count(pattern, from, to,    i, n) {
    for (i = from; i <= to; i++) n += op[i] ~ pattern
    return n + 0
}

function has_all(patterns, from, to,    part, n, i) {
    n = split(patterns, part, "&")
    for (i = 1; i <= n; i++) {
        if (part[i] ~ /^!/) {
            if (opcode_count("^" substr(part[i], 2), from, to)) return 0
        } else if (!opcode_count("^" part[i], from, to)) return 0
    }
    return 1
}

function widest_load(from, to,    i, bytes, most) {
    for (i = from; i <= to; i++) {
        if (op[i] !~ /^LDG?\./) continue
        bytes = op[i] ~ /\.128/ ? 16 : op[i] ~ /\.64/ ? 8 : op[i] ~ /\.[US]16/ ? 2 : op[i] ~ /\.[US]8/ ? 1 : 4
        if (bytes > most) most = bytes
    }
    return most + 0
}

# Branches to where lanes that have parted meet again (BRA.DIV, WARPSYNC) lead behind the kernel's own code and back.
function find_loops(    i, end) {
    end = count
    for (i = 0; i < count; i++) if (op[i] ~ /^BRA\.DIV/ && label[target[i]] < end) end = label[target[i]]
    loops = 0
    for (i = 0; i < end; i++)
        if (op[i] ~ /^BRA/ && target[i] != "" && label[target[i]] < i) {
            first[loops] = label[target[i]]
            last[loops++] = i
        }
}

function report(line,    field, k, l, inner, wide, units, best, best_wide, best_units) {
    split(line, field, "|")
    best = -1
    for (k = 0; k < loops; k++) {
        if (!has_all(field[3], first[k], last[k])) continue
        inner = 1
        for (l = 0; l < loops; l++)
            if (l != k && first[l] >= first[k] && last[l] <= last[k] && last[l] - first[l] < last[k] - first[k] &&
                has_all(field[3], first[l], last[l])) inner = 0
        if (!inner) continue
        wide = widest_load(first[k], last[k])
        units = opcode_count("^" field[4], first[k], last[k]) / field[5]
        if (best < 0 || wide > best_wide || (wide == best_wide && units > best_units)) {
            best = k; best_wide = wide; best_units = units
        }
    }
    if (best < 0) {
        printf "%-56s there is no such loop\n", field[1] " " field[2]
        return
    }
    k = best
    printf "%-40s %-16s %4d %7.4g %9.4g %5d %5d %6d %4d %4d\n", field[1], field[2], last[k] - first[k] + 1, best_units,
        (last[k] - first[k] + 1) / best_units, best_wide, opcode_count("^CCTL", first[k], last[k]),
        opcode_count("^MEMBAR", first[k], last[k]), opcode_count("^LDL", first[k], last[k]),
        opcode_count("^LDC", first[k], last[k])
}

function end_kernel(    i) {
    if (name != "") {
        find_loops()
        for (i = 0; i < asked; i++) if (kernel[i] == name) report(wanted[i])
    }
    name = ""
    count = 0
    split("", label)
}

FNR == NR {
    split($0, part, "|")
    kernel[asked] = part[1]
    wanted[asked++] = $0
    next
}
/^kernel / {
    end_kernel()
    name = substr($0, 8)
    gsub(/\(anonymous namespace\)::/, "", name); sub(/^void /, "", name); sub(/\(.*/, "", name); gsub(/ /, "", name)
    next
}
/^\.L_x_[0-9]+:/ {
    sub(/:.*/, "", $1)
    label[$1] = count
    next
}
/^ +\/\*[0-9a-f]+\*\/ / {
    word = $2 ~ /^@/ ? $3 : $2
    sub(/;$/, "", word)
    op[count] = word
    target[count] = match($0, /`\(\.L_x_[0-9]+\)/) ? substr($0, RSTART + 2, RLENGTH - 3) : ""
    count++
}
END { end_kernel() }
