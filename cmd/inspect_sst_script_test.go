package cmd

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// damageCmd flips the bits of one byte: damage FILE OFFSET.
func damageCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: damage FILE OFFSET")
	}
	at, err := parseNumber(args[1], 0, 0)
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	if at >= int64(len(b)) {
		ts.Fatalf("%s has %d bytes", args[0], len(b))
	}
	b[at] ^= 0xff
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}
