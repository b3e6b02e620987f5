#include "textflag.h"

DATA low<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA low<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL low<>(SB), RODATA|NOPTR, $16

DATA nine<>+0(SB)/8, $0x0909090909090909
DATA nine<>+8(SB)/8, $0x0909090909090909
GLOBL nine<>(SB), RODATA|NOPTR, $16

DATA zero<>+0(SB)/8, $0x3030303030303030
DATA zero<>+8(SB)/8, $0x3030303030303030
GLOBL zero<>(SB), RODATA|NOPTR, $16

// What a letter lies above its digit: 'a' - 10 - '0'.
DATA letter<>+0(SB)/8, $0x2727272727272727
DATA letter<>+8(SB)/8, $0x2727272727272727
GLOBL letter<>(SB), RODATA|NOPTR, $16

// func hex16(dst, src *byte, n int)
// SSE2 only, which every amd64 has.
TEXT ·hex16(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVOU low<>(SB), X4
	MOVOU nine<>(SB), X5
	MOVOU zero<>(SB), X6
	MOVOU letter<>(SB), X7

loop:
	MOVOU (SI), X0
	MOVO  X0, X1
	PSRLW $4, X0
	PAND  X4, X0 // the first digits
	PAND  X4, X1 // the second digits
	MOVO  X0, X2
	PUNPCKLBW X1, X0
	PUNPCKHBW X1, X2
	MOVO  X0, X1
	MOVO  X2, X3
	PCMPGTB X5, X1
	PCMPGTB X5, X3
	PAND  X7, X1
	PAND  X7, X3
	PADDB X6, X0
	PADDB X6, X2
	PADDB X1, X0
	PADDB X3, X2
	MOVOU X0, (DI)
	MOVOU X2, 16(DI)
	ADDQ  $16, SI
	ADDQ  $32, DI
	SUBQ  $16, CX
	JNE   loop
	RET
