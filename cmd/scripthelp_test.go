package cmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
)

// clusters are the running scripts' clusters, by work directory.
var clusters sync.Map

var scriptContext = context.Background()

func clusterOf(ts *testscript.TestScript) *kafkatest.Cluster {
	c, ok := clusters.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no cluster: the script needs the line `cluster` first")
	}
	return c.(*kafkatest.Cluster)
}

func codeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// treeOf describes a directory: every path, and a digest of every file.
func treeOf(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	root := ts.MkAbs(dir)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || d.IsDir() {
			fmt.Fprintf(&b, "%s/\n", rel)
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", rel, sha256.Sum256(text))
		return err
	})
	ts.Check(err)
	return b.String()
}

// waitFileCmd waits until a file is there: waitfile PATH.
func waitFileCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: waitfile PATH")
	}
	for range 600 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear within a minute", args[0])
}

// waitGrepCmd waits until a file has a line: waitgrep PATTERN PATH.
func waitGrepCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: waitgrep PATTERN PATH")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var text []byte
	for range 600 {
		if text, _ = os.ReadFile(ts.MkAbs(args[1])); want.Match(text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("no line of %s matches %s within a minute:\n%s", args[1], args[0], text)
}

// holdLockCmd holds a file's lock as an application does, until the script's
// end: holdlock PATH.
func holdLockCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: holdlock PATH")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR|os.O_CREATE, 0o644)
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	ts.Check(syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
}

// fixtureCmd unpacks a real state directory, of lsmtest's archives, as a
// state.dir: fixture NAME DIR.
func fixtureCmd(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 2 {
			ts.Fatalf("usage: fixture NAME DIR")
		}
		_, app := lsmtest.Unpack(t, args[0])
		ts.Check(os.CopyFS(filepath.Join(ts.MkAbs(args[1]), filepath.Base(app)), os.DirFS(app)))
		ts.Check(lsmtest.Close(ts.MkAbs(args[1])))
	}
}

// commitCmd commits an offset for a group without members: commit GROUP TOPIC
// PARTITION OFFSET METADATA.
func commitCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: commit GROUP TOPIC PARTITION OFFSET METADATA")
	}
	partition, err := strconv.Atoi(args[2])
	ts.Check(err)
	offset, err := strconv.Atoi(args[3])
	ts.Check(err)
	c, err := kafka.Open(scriptContext, kafka.Config{Bootstrap: clusterOf(ts).Addrs()})
	ts.Check(err)
	defer c.Close()
	ts.Check(c.CommitGroupOffsets(scriptContext, args[0], []kafka.GroupOffset{
		{Topic: args[1], Partition: int32(partition), Offset: int64(offset), LeaderEpoch: -1, Metadata: args[4]},
	}))
}

// committedCmd compares what a group has committed: committed GROUP [TOPIC
// PARTITION OFFSET METADATA]….
func committedCmd(ts *testscript.TestScript, neg bool, args []string) {
	c, err := kafka.Open(scriptContext, kafka.Config{Bootstrap: clusterOf(ts).Addrs()})
	ts.Check(err)
	defer c.Close()
	offsets, err := c.GroupOffsets(scriptContext, args[0])
	ts.Check(err)
	var is []string
	for _, o := range offsets {
		is = append(is, o.Topic, strconv.Itoa(int(o.Partition)), strconv.FormatInt(o.Offset, 10), o.Metadata)
	}
	if !slices.Equal(is, args[1:]) {
		ts.Fatalf("group %s has %q, want %q", args[0], is, args[1:])
	}
}

// members are the groups that joinCmd has joined, by work directory and group.
var members sync.Map

// joinCmd makes a member of a group that reads a topic, which must have records:
// join GROUP TOPIC. It stays until leave GROUP, or the end of the script.
func joinCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: join GROUP TOPIC")
	}
	leave, err := clusterOf(ts).Join(scriptContext, args[0], args[1], "classic")
	ts.Check(err)
	once := sync.OnceFunc(leave)
	members.Store(ts.Getenv("WORK")+"\x00"+args[0], once)
	ts.Defer(once)
}

// leaveCmd ends a join: leave GROUP.
func leaveCmd(ts *testscript.TestScript, neg bool, args []string) {
	leave, ok := members.Load(ts.Getenv("WORK") + "\x00" + strings.Join(args, " "))
	if !ok {
		ts.Fatalf("nobody has joined %q", args)
	}
	leave.(func())()
}
