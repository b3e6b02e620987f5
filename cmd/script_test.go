package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sstool/internal/kafkatest"
)

// TestMain lets the scripts run this very binary as sstool.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sstool": func() { os.Exit(Main()) }})
}

// TestScripts runs testdata/script/*.txtar against the real command line.
// UPDATE_GOLDEN=1 rewrites the expected outputs in them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "testdata", "script"),
		UpdateScripts:       os.Getenv("UPDATE_GOLDEN") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			if cond == "rocksdb" {
				return rocksVersion() != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			env.Setenv("LANG", "C.UTF-8")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cluster":   clusterCmd,
			"topic":     topicCmd,
			"produce":   produceCmd,
			"exitcode":  exitCodeCmd,
			"same":      sameCmd,
			"waitfile":  waitFileCmd,
			"waitgrep":  waitGrepCmd,
			"holdlock":  holdLockCmd,
			"damage":    damageCmd,
			"fixture":   fixtureCmd(t),
			"commit":    commitCmd,
			"committed": committedCmd,
			"join":      joinCmd,
			"leave":     leaveCmd,
			"scrape":    scrapeCmd,
			"endpoint":  endpointCmd,
		},
	})
}

// clusterCmd starts an embedded Kafka for the script: cluster [ID]. Its
// address is in $BOOTSTRAP.
func clusterCmd(ts *testscript.TestScript, neg bool, args []string) {
	id := "script-cluster"
	if len(args) == 1 {
		id = args[0]
	}
	c, err := kafkatest.Start(kafkatest.Options{ClusterID: id})
	ts.Check(err)
	ts.Defer(c.Close)
	ts.Setenv("BOOTSTRAP", c.Addrs()[0])
	clusters.Store(ts.Getenv("WORK"), c)
}

// topicCmd creates a topic: topic NAME PARTITIONS [key=value …].
func topicCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: topic NAME PARTITIONS [key=value …]")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var config []string
	for _, kv := range args[2:] {
		k, v, _ := strings.Cut(kv, "=")
		config = append(config, k, v)
	}
	ts.Check(clusterOf(ts).Topic(args[0], int32(n), config...))
}

// produceCmd writes records: produce TOPIC PARTITION RECORDS KEYS. Key k-i is
// written again and again; every tenth record is a tombstone, of every hundredth
// the value is empty. Times are a second apart.
func produceCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: produce TOPIC PARTITION RECORDS KEYS")
	}
	var n [3]int
	for i, s := range args[1:] {
		var err error
		n[i], err = strconv.Atoi(s)
		ts.Check(err)
	}
	records := make([]kafkatest.Record, n[1])
	for i := range records {
		r := kafkatest.Record{Partition: int32(n[0]), Key: fmt.Appendf(nil, "k-%06d", i%n[2]), Timestamp: 1_700_000_000_000 + int64(i)*1000}
		switch {
		case i%100 == 50:
			r.Value = []byte{}
		case i%10 != 9:
			r.Value = fmt.Appendf(nil, "value %d", i)
		}
		records[i] = r
	}
	ts.Check(clusterOf(ts).ProduceAll(scriptContext, args[0], records...))
}

// exitCodeCmd runs a command and compares its exit code: exitcode 2 sstool ….
// Its output goes to the script's stdout and stderr.
func exitCodeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE PROGRAM ARGS")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	if got := codeOf(err); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// sameCmd says that two directory trees hold the same names and bytes: same A B.
func sameCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same DIR DIR")
	}
	a, b := treeOf(ts, args[0]), treeOf(ts, args[1])
	if (a == b) == neg {
		ts.Fatalf("%s:\n%s\n%s:\n%s", args[0], a, args[1], b)
	}
}
