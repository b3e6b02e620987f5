package inspect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFindLock(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  READ 77 08:01:131 0 EOF
2: FLOCK  ADVISORY  WRITE 78 08:01:132 0 EOF
2: -> POSIX  ADVISORY  WRITE 79 08:01:133 0 EOF
3: POSIX  ADVISORY  WRITE 4242 fe:0a:131 0 EOF
broken line
`
	for _, c := range []struct {
		major, minor uint32
		ino          uint64
		pid          int
		ok           bool
	}{{8, 1, 131, 0, false}, {8, 1, 132, 78, true}, {8, 1, 133, 0, false}, {0xfe, 10, 131, 4242, true}, {8, 1, 9, 0, false}} {
		if pid, ok := findLock([]byte(locks), c.major, c.minor, c.ino); pid != c.pid || ok != c.ok {
			t.Errorf("%+v: %d, %t", c, pid, ok)
		}
	}
}

func FuzzFindLock(f *testing.F) {
	f.Add([]byte("3: POSIX  ADVISORY  WRITE 4242 fe:0a:131 0 EOF\n"))
	f.Fuzz(func(t *testing.T, locks []byte) {
		if pid, ok := findLock(locks, 0xfe, 10, 131); ok && !strings.Contains(string(locks), "fe:0a:131") {
			t.Errorf("process %d", pid)
		}
	})
}

// TestCommandHidesArguments: passwords come as arguments.
func TestCommandHidesArguments(t *testing.T) {
	for want, args := range map[string]string{
		"java com.acme.Orders":     "/usr/bin/java -Xmx1g -Dpassword=secret -cp a.jar:b.jar com.acme.Orders --password secret",
		"java -jar orders.jar":     "java -jar /opt/orders.jar secret",
		"java -m acme/com.acme.Me": "java --module-path /mods -m acme/com.acme.Me secret",
		"java":                     "java -Dpassword=secret",
		"orders":                   "/opt/orders --password=secret",
	} {
		if got := shortCommand(strings.Fields(args)); got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestLockHolder asks about a lock that nobody holds, that this process holds,
// and that another does; asking must not take or drop it.
func TestLockHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	if l := LockHolder(path); l.Held == nil || *l.Held {
		t.Errorf("without a file: %+v", l)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l := LockHolder(path); l.Held == nil || *l.Held || l.PID != nil {
		t.Errorf("held by nobody: %+v", l)
	}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	if l := LockHolder(path); l.Held == nil || !*l.Held || l.PID == nil || *l.PID != os.Getpid() {
		t.Errorf("held by us: %+v", l)
	}
	// Had the question opened and closed the file, our lock would be gone: a
	// child that asks sees whether it is.
	cmd := exec.Command(os.Args[0], "-test.run=TestChildAsks$")
	cmd.Env = append(os.Environ(), "SSTOOL_ASK="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "held: true") {
		t.Errorf("a child sees: %v\n%s", err, out)
	}
}

func TestChildAsks(t *testing.T) {
	path := os.Getenv("SSTOOL_ASK")
	if path == "" {
		t.Skip("run by TestLockHolder")
	}
	l := LockHolder(path)
	os.Stdout.WriteString("held: " + map[bool]string{true: "true", false: "false"}[l.Held != nil && *l.Held] + "\n")
}
