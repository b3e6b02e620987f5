package cmd

import (
	"fmt"
	"testing"

	"sstool/internal/op"
)

func TestHintsFitASpecification(t *testing.T) {
	f := &restoreFlags{spec: "orders.yaml"}
	for try, want := range map[string]string{
		"--retention 2h0m0s to state it, or --accept-derived to write derived values": "write `retention: 2h` for store dedup in orders.yaml, or --accept-derived to write derived values",
		"--history-retention DURATION, or history-retention in the spec":              "write `history-retention: …` for store dedup in orders.yaml, as in the application",
		"--kind KIND, or --spec FILE; `sstool spec` reads it":                         "write `kind: …` for store dedup in orders.yaml; `sstool spec` reads it from a state directory of the application",
		"--subtopology N": "write `subtopology: …` for store dedup in orders.yaml; `sstool spec` reads it from a topology or a state directory",
		"`global: copy` in the spec (or --global-copy)": "write `global: copy` for store dedup in orders.yaml",
		"check --kind and --target-kafka":               "check kind for store dedup in orders.yaml and --target-kafka",
		"--force moves it aside":                        "--force moves it aside",
	} {
		err := fmt.Errorf("plan: %w", op.Errorf(op.Usage, "store %q: cannot", "dedup").WithTry("%s", try))
		got := f.specHint(err)
		if tries := op.Tries(got); len(tries) != 1 || tries[0] != want || op.KindOf(got) != op.Usage || got.Error() != err.Error() {
			t.Errorf("%s:\ngot  %v: %q\nwant %q", try, got, tries, want)
		}
	}
	if (&restoreFlags{}).specHint(nil) != nil {
		t.Error("an error out of nothing")
	}
}
