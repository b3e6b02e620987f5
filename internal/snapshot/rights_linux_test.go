package snapshot

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"sstool/internal/op"
)

// TestWhatMayNotBeReadIsNotMissing: a listing that leaves out a folder would
// hide snapshots, and let a prune delete what they name.
func TestWhatMayNotBeReadIsNotMissing(t *testing.T) {
	b, dir := inDir(t, Options{})
	mustPush(t, b, state{"1.sst": "one"}, PushOptions{})
	secret := filepath.Join(dir, "snapshots", "app")
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(secret, 0o755) })
	if os.Geteuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	if ms, err := b.Manifests(t.Context(), ""); op.KindOf(err) != op.Unreachable || err == nil {
		t.Errorf("%d snapshots, %v", len(ms), err)
	}
	if p, err := b.PlanPrune(t.Context(), Policy{Keep: 1}, nil); err == nil {
		t.Errorf("a prune of what it cannot see: %+v", p)
	}
}
