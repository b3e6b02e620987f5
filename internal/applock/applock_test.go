package applock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/op"
)

// A second process is refused while the lock is held, and told by whom.
func TestHold(t *testing.T) {
	if dir := os.Getenv("APPLOCK_TEST_DIR"); dir != "" {
		l, err := Hold(dir)
		if err != nil {
			fmt.Printf("kind %s: %v\n", op.KindOf(err), err)
		} else {
			fmt.Println("held")
			l.Release()
		}
		return
	}
	other := func(dir string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHold$")
		cmd.Env = append(os.Environ(), "APPLOCK_TEST_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return string(out)
	}
	dir := filepath.Join(t.TempDir(), "app")
	l, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if out := other(dir); !strings.Contains(out, "kind in_use") || !strings.Contains(out, fmt.Sprintf("held by process %d", os.Getpid())) {
		t.Errorf("while it is held: %s", out)
	}
	l.Release()
	l.Release()
	if out := other(dir); !strings.HasPrefix(out, "held") {
		t.Errorf("after it was released: %s", out)
	}
}
