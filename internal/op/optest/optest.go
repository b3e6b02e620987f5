// Package optest helps tests that look at errors. Only tests import it.
package optest

import (
	"strings"
	"testing"

	"sstool/internal/op"
)

// WantKind checks an error's kind, and that the parts are in its text or in
// its next steps.
func WantKind(t testing.TB, err error, kind op.Kind, parts ...string) {
	t.Helper()
	if err == nil || op.KindOf(err) != kind {
		t.Fatalf("error %v of kind %s, want %s", err, op.KindOf(err), kind)
	}
	text := err.Error() + "\n" + strings.Join(op.Tries(err), "\n")
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in: %s", p, text)
		}
	}
}
