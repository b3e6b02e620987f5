//go:build unix

package topodiff

import (
	"fmt"
	"strings"
	"testing"

	"sstool/internal/op/optest"
)

// TestLinear compares chains of stores, renumbered: each is fed by all before
// it.
func TestLinear(t *testing.T) {
	chain := func(n, shift int) string {
		var b strings.Builder
		name := func(i int) string { return fmt.Sprintf("KTABLE-MAPVALUES-%010d", i+shift) }
		fmt.Fprintf(&b, "Topologies:\n  Sub-topology: 0\n    Source: in (topics: [in])\n      --> %s\n", name(0))
		for i := range n {
			prev, next := "in", "none"
			if i > 0 {
				prev = name(i - 1)
			}
			if i < n-1 {
				next = name(i + 1)
			}
			fmt.Fprintf(&b, "    Processor: %s (stores: [store-%d])\n      --> %s\n      <-- %s\n", name(i), i, next, prev)
		}
		return b.String()
	}
	optest.Linear(t, 2000, func(n int) func() {
		old, new := parse(t, chain(n, 0)), parse(t, chain(n, 7))
		return func() {
			r, err := Diff(t.Context(), old, new, Options{OldApp: "app"})
			if err != nil || r.Losses != 0 || len(r.Stores) != n {
				t.Fatal(err, r.Losses, len(r.Stores))
			}
		}
	})
}
