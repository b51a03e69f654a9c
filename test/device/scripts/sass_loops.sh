#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sass_loops.sh AWK: what sass_loops.awk makes of a small disassembly: of a fallback, an unrolled loop and its remainder
# the wide unrolled one is reported; a poll within a loop counts as part of it; a path for lanes that have parted is no
# loop; what has no place in a loop is counted there, not beside it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/list" <<'END'
first<double>|entry|LDG&DMUL|DMUL|2
second<float>|row|LDG.*STRONG&FMUL&!SHFL|FMUL|1
second<float>|absent|DMUL|DMUL|1
END
cat >"$work/sass" <<'END'
kernel void (anonymous namespace)::first<double>(int)
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDG.E.64 R2, desc[UR4][R4.64] ;
        /*0020*/                   DMUL R2, R2, R2 ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0040*/                   BRA.DIV UR8, `(.L_x_4) ;
        /*0050*/                   LDG.E.128 R4, desc[UR4][R4.64] ;
        /*0060*/              @!P1 DMUL R2, R2, R2 ;
        /*0070*/                   DMUL R4, R4, R4 ;
.L_x_5:
        /*0080*/                   DMUL R2, R2, R2 ;
        /*0090*/                   DMUL R4, R4, R4 ;
        /*00a0*/                   LDL R9, [R1] ;
        /*00b0*/               @P0 BRA `(.L_x_2) ;
.L_x_3:
        /*00c0*/                   LDG.E.128 R4, desc[UR4][R4.64] ;
        /*00d0*/                   DMUL R2, R2, R2 ;
        /*00e0*/                   DMUL R4, R4, R4 ;
        /*00f0*/               @P0 BRA `(.L_x_3) ;
        /*0100*/                   EXIT ;
.L_x_4:
        /*0110*/                   WARPSYNC.COLLECTIVE R17, `(.L_x_5) ;
        /*0120*/                   BRA `(.L_x_5) ;
kernel (anonymous namespace)::second<float>(int)
.L_x_6:
        /*0000*/                   LDG.E R2, desc[UR4][R4.64] ;
.L_x_7:
        /*0010*/                   LDG.E.STRONG.GPU R3, desc[UR4][R4.64] ;
        /*0020*/                   CCTL.IVALL ;
        /*0030*/               @P0 BRA `(.L_x_7) ;
        /*0040*/                   FMUL R2, R2, R3 ;
        /*0050*/                   LDC R5, c[0x0][0x28] ;
        /*0060*/               @P0 BRA `(.L_x_6) ;
        /*0070*/                   MEMBAR.ALL.GPU ;
        /*0080*/                   EXIT ;
END
awk -f "$1" "$work/list" "$work/sass" | tr -s ' ' | sed 's/ $//' >"$work/got"
cat >"$work/wanted" <<'END'
first<double> entry 8 2 4 16 0 0 1 0
second<float> row 7 1 7 4 1 0 0 1
second<float> absent there is no such loop
END
diff "$work/wanted" "$work/got"
