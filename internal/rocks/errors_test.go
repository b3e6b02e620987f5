package rocks

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		msg  string
		kind op.Kind
		try  string
	}{
		{"IO error: While lock file: /s/LOCK: Resource temporarily unavailable", op.InUse, "stop the application"},
		{"IO error: lock hold by current process, acquire time 1 acquiring thread 2: /s/LOCK: No locks available", op.InUse, "stop the application"},
		{"Corruption: block checksum mismatch: stored = 1, computed = 2 in /s/000010.sst offset 0 size 9", op.Corrupt, ""},
		{"IO error: No space left on device: While appending to file: /s/000010.sst: No space left on device", op.Failed, "free some space"},
		{"IO error: Disk quota exceeded", op.Failed, "free some space"},
		{"IO error: While open a file for appending: /s/000010.sst: Permission denied", op.Failed, "owns /s"},
		{"IO error: While open a file for random read: /s/000010.sst: Too many open files", op.Failed, "ulimit"},
		{"Invalid argument: leveldb.BytewiseComparator: does not match existing comparator x", op.Failed, "comparator"},
		{"Busy: something", op.Failed, ""},
	} {
		err := wrap(errors.New(tc.msg), "open RocksDB /s", "/s")
		if got := op.KindOf(err); got != tc.kind {
			t.Errorf("%s: kind %v, want %v", tc.msg, got, tc.kind)
		}
		if !strings.HasPrefix(err.Error(), "open RocksDB /s: ") {
			t.Errorf("%s: %q does not name the place", tc.msg, err)
		}
		if try := strings.Join(op.Tries(err), " "); (tc.try == "") != (try == "") || !strings.Contains(try, tc.try) {
			t.Errorf("%s: try %q, want %q", tc.msg, try, tc.try)
		}
	}
	if err := wrap(nil, "x", "y"); err != nil {
		t.Errorf("wrap(nil) = %v", err)
	}
}

const procLocks = `1: POSIX  ADVISORY  READ 11 08:01:77 128 128
2: FLOCK  ADVISORY  WRITE 12 08:01:78 0 EOF
3: POSIX  ADVISORY  WRITE 4242 00:3a:1234 0 EOF
3: -> POSIX  ADVISORY  WRITE 99 00:3a:1234 0 EOF
4: POSIX  ADVISORY  WRITE -1 00:3a:1235 0 EOF
`

func TestLockHolder(t *testing.T) {
	for inode, want := range map[uint64]int{77: 0, 1234: 4242, 1235: 0, 5: 0} {
		if got := lockHolder(strings.NewReader(procLocks), inode); got != want {
			t.Errorf("inode %d: %d, want %d", inode, got, want)
		}
	}
}

func FuzzLockHolder(f *testing.F) {
	f.Add(procLocks, uint64(1234))
	f.Add("1: POSIX", uint64(0))
	f.Fuzz(func(t *testing.T, text string, inode uint64) {
		if pid := lockHolder(strings.NewReader(text), inode); pid < 0 {
			t.Errorf("pid %d", pid)
		}
	})
}

func TestHolderOfNothing(t *testing.T) {
	if got := holderOf(t.TempDir() + "/LOCK"); got != "another process" {
		t.Errorf("no file: %q", got)
	}
	path := t.TempDir() + "/LOCK"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := holderOf(path); got != "another process" {
		t.Errorf("not locked: %q", got)
	}
}
