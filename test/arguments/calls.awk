# SPDX-License-Identifier: Apache-2.0
# From the public headers, a call of every function that they declare, in C, for arguments.c: awk -f calls.awk HEADER...
# Each argument is GOOD_<type>(its number, its name), but the one that is to be wrong: NULL, or a value that an enum has
# not, or -1. A declaration that is not understood ends the script with an error; a type that arguments.h has no good
# value of does not compile.
function trim(s) {
    gsub(/[ \t\n]+/, " ", s)
    sub(/^ /, "", s)
    sub(/ $/, "", s)
    return s
}

# "const tulle_mat *" -> c_tulle_mat_p
function mangled(type) {
    gsub(/const/, "c", type)
    gsub(/\*/, " p ", type)
    type = trim(type)
    gsub(/ /, "_", type)
    gsub(/p_p/, "pp", type)
    return type
}

function declare(text, i, n, j, head, tail, name, result, parameter, type, word, kind, arguments, body, names, kinds, in_body) {
    i = index(text, "(")
    head = trim(substr(text, 1, i - 1))
    tail = substr(text, i + 1)
    j = index(tail, ")")
    if (!i || !j || !match(head, /tulle_[a-z0-9_]+$/)) {
        print "calls.awk: not understood: " text > "/dev/stderr"
        bad = 1
        return
    }
    name = substr(head, RSTART)
    result = trim(substr(head, 1, RSTART - 1))
    n = split(substr(tail, 1, j - 1), parameter, ",")
    arguments = body = names = kinds = ""
    in_body = 0
    for (i = 1; i <= n; i++) {
        parameter[i] = trim(parameter[i])
        if (parameter[i] == "void" || parameter[i] == "...") continue
        match(parameter[i], /[a-z_A-Z0-9]+$/)
        word = substr(parameter[i], RSTART)
        type = trim(substr(parameter[i], 1, RSTART - 1))
        if (type ~ /tulle_(comm|mat|product|trisolve|stream|rows|writer|counts|fetch|direct|operator|matfun|spectrum|svd) / && type !~ /\*\*$/) in_body = 1
        kind = type ~ /\*/ || type in pointer ? "p" : type in enumeration ? "e" : type ~ /^(int|int64_t|tulle_gidx)$/ ? "n" : "-"
        body = body "    " type " a" i " = GOOD_" mangled(type) "(" i - 1 ", \"" word "\");\n"
        if (kind == "p") body = body "    if (bad == " i - 1 ") a" i " = NULL;\n"
        if (kind == "e") body = body "    if (bad == " i - 1 ") a" i " = (" type ")99;\n"
        if (kind == "n") body = body "    if (bad == " i - 1 ") a" i " = -1;\n"
        arguments = arguments (arguments == "" ? "" : ", ") "a" i
        names = names (names == "" ? "" : ", ") "\"" word "\""
        kinds = kinds kind
    }
    print "static void call_" name "(struct fixture *f, int bad, struct outcome *o)\n{"
    print "    static const char function[] = \"" name "\";"
    print "    (void)function, (void)f, (void)bad, (void)o;"
    printf "%s", body
    print "    if (f->status != TULLE_OK) return;"
    if (result == "tulle_status")
        print "    o->status = " name "(" arguments ");"
    else if (result == "void")
        print "    " name "(" arguments ");"
    else if (result == "const char *")
        print "    o->text = " name "(" arguments ");"
    else {
        print "    " result " r = " name "(" arguments ");"
        print "    o->neutral = is_nothing(&r, sizeof r);"
    }
    print "}\n"
    kind = result == "tulle_status" ? "s" : result == "void" ? "v" : result == "const char *" ? "t" : "r"
    table = table "    {\"" name "\", call_" name ", '" kind "', " in_body ", \"" kinds "\", {" (names == "" ? "NULL" : names) "}},\n"
}

{ text = text $0 "\n" }

END {
    # comments and directives away
    while ((i = index(text, "/*")) > 0) {
        rest = substr(text, i + 2)
        text = substr(text, 1, i - 1) " " substr(rest, index(rest, "*/") + 2)
    }
    lines = split(text, line, "\n")
    text = ""
    for (i = 1; i <= lines; i++) {
        if (line[i] ~ /^#/ || continued) {
            continued = line[i] ~ /\\$/
            continue
        }
        text = text line[i] "\n"
    }
    statements = split(text, statement, ";")
    for (s = 1; s <= statements; s++) {
        if (match(statement[s], /typedef[^{}]*\(\*tulle_[a-z_]+\)/)) {
            word = substr(statement[s], RSTART, RLENGTH)
            match(word, /tulle_[a-z_]+\)$/)
            pointer[substr(word, RSTART, RLENGTH - 1)] = 1
        }
        if (match(statement[s], /typedef enum tulle_[a-z_]+/)) {
            word = substr(statement[s], RSTART, RLENGTH)
            enumeration[substr(word, 14)] = 1
        }
    }
    print "/* Made by calls.awk from the public headers. */"
    for (s = 1; s <= statements; s++)
        if ((i = index(statement[s], "TULLE_API ")) > 0) {
            declare(substr(statement[s], i + 10))
            count++
        }
    print "static const struct subject subjects[] = {\n" table "};"
    print "enum { SUBJECTS = " count " };"
    exit bad
}
