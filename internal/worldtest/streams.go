package worldtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Harness runs real Kafka Streams applications of one version. One JVM serves
// all its commands; commands of different applications may run at once, and
// waiting is most of what they do.
type Harness struct {
	Version string

	classpath string
	session   *session
}

// Streams compiles the harness for a version of Kafka Streams, or takes it
// from the cache, and starts a JVM that ends with the test.
func Streams(t testing.TB, version string) *Harness {
	t.Helper()
	h, err := NewHarness(version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		if t.Failed() {
			t.Logf("harness %s:\n%s", version, tail(h.Log(), 8<<10))
		}
	})
	return h
}

// NewHarness is Streams outside of a test.
func NewHarness(version string) (*Harness, error) {
	cp, err := classpath("harness", version, harnessArgs(version)...)
	if err != nil {
		return nil, err
	}
	h := &Harness{Version: version, classpath: cp}
	h.session, err = startSession(h.java("-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"))
	return h, err
}

// harnessArgs are Maven's for the harness of a version.
func harnessArgs(version string) []string {
	if older(version, "4.3") {
		return nil
	}
	return []string{"-Pheaders"} // stores that keep record headers: KIP-1271
}

// Close ends the JVM.
func (h *Harness) Close() { h.session.close() }

// Log is what the JVM printed, exceptions included.
func (h *Harness) Log() string { return h.session.log() }

// App is one application: what to run, where.
type App struct {
	ID        string
	Profile   string // a name of Profiles
	Bootstrap string
	StateDir  string // the application's directory is StateDir/ID
	EOS       bool
	Settings  map[string]string // Kafka Streams configuration over the harness's own

	// A later release of the application: the same input, other names.
	Topics string   // what the input topics' names begin with; default ID
	Suffix string   // appended to every name that the profile gives
	Keep   []string // the names without it
	Shift  int      // operators put first, so that generated names and sub-topologies have higher numbers

	Peer bool // another instance of it runs elsewhere, with a state directory of its own
}

// Dir is the application's directory.
func (a App) Dir() string { return filepath.Join(a.StateDir, a.ID) }

// In returns a with another state directory.
func (a App) In(stateDir string) App {
	a.StateDir = stateDir
	return a
}

func (a App) mode() string {
	if a.EOS {
		return "eos"
	}
	return "alos"
}

func (a App) args() []string {
	args := []string{"--app", a.ID, "--profile", a.Profile, "--bootstrap", a.Bootstrap, "--state", a.StateDir, "--mode", a.mode()}
	if a.Topics != "" {
		args = append(args, "--topics", a.Topics)
	}
	if a.Suffix != "" {
		args = append(args, "--suffix", a.Suffix)
	}
	if len(a.Keep) > 0 {
		args = append(args, "--keep", strings.Join(a.Keep, ","))
	}
	if a.Shift != 0 {
		args = append(args, "--shift", fmt.Sprint(a.Shift))
	}
	if a.Peer {
		args = append(args, "--peer", "yes")
	}
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		args = append(args, "--set", key+"="+a.Settings[key])
	}
	return args
}

// Input is what Build produces first. The records are the same for the same
// profile and numbers; only their time moves.
type Input struct {
	Records int           // per input topic; default 1000
	First   int           // number of the first record: that of the Build before + its Records
	Base    time.Time     // time of record 0; default InputBase(time.Now())
	Step    time.Duration // from record to record; default two seconds
	Halt    bool          // the application dies instead of stopping
}

func (in Input) args() []string {
	if in.Step == 0 {
		in.Step = 2 * time.Second
	}
	return []string{"--records", fmt.Sprint(in.Records), "--first", fmt.Sprint(in.First), "--base-ts", fmt.Sprint(in.Base.UnixMilli()),
		"--step-ms", fmt.Sprint(in.Step.Milliseconds())}
}

// InputBase is a time before now from which some ten thousand records fit
// before now: brokers refuse records of the future and delete old ones. It is
// a full hour, so that segments begin alike.
func InputBase(now time.Time) time.Time { return now.Truncate(time.Hour).Add(-6 * time.Hour) }

// BuildReport says where a Build's time went.
type BuildReport struct {
	Kafka         string
	ProduceMillis int64
	StartMillis   int64
	ConsumeMillis int64
	CloseMillis   int64
}

// Build produces input, lets the application consume all of it, and stops it.
func (h *Harness) Build(ctx context.Context, a App, in Input) (BuildReport, error) {
	if in.Records == 0 {
		in.Records = 1000
	}
	if in.Base.IsZero() {
		in.Base = InputBase(time.Now())
	}
	args := append(a.args(), in.args()...)
	if in.Halt {
		return BuildReport{}, h.halted(ctx, append(args, "--halt", "yes"))
	}
	var report BuildReport
	return report, h.session.do(ctx, &report, "build", args...)
}

// halted builds in a JVM of its own, which dies.
func (h *Harness) halted(ctx context.Context, args []string) error {
	cmd := h.java("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	cmd.Args = append(append(cmd.Args, "build"), args...)
	out, err := runCommand(ctx, cmd)
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 9 {
		return nil
	}
	return fmt.Errorf("the application did not halt: %w\n%s", err, out)
}

// Start starts an application and lets it run in the harness's JVM until Stop.
func (h *Harness) Start(ctx context.Context, a App) error {
	var reply struct{ Kafka string }
	return h.session.do(ctx, &reply, "start", a.args()...)
}

// Feed produces input for an application that runs, or will run, as fast as the
// broker takes it; it does not wait until it is consumed. in.Halt means nothing here.
func (h *Harness) Feed(ctx context.Context, a App, in Input) error {
	var reply struct{ Records int }
	return h.session.do(ctx, &reply, "feed", append(a.args(), in.args()...)...)
}

// Stop waits until the application has consumed its input, asks every store
// for its rows, and stops it cleanly.
func (h *Harness) Stop(ctx context.Context, a App) (map[string]StoreAnswer, error) {
	var report struct{ Stores map[string]StoreAnswer }
	err := h.session.do(ctx, &report, "stop", a.args()...)
	return report.Stores, err
}

// Busy returns a with stores whose files come and go all the time: memtables
// of 64 KiB, and a compaction whenever there are two files.
func (a App) Busy() App {
	a.Settings = maps.Clone(a.Settings)
	if a.Settings == nil {
		a.Settings = map[string]string{}
	}
	a.Settings["rocksdb.config.setter"] = "world.BusyStores"
	a.Settings["commit.interval.ms"] = "100"
	return a
}

// HandoffReport says what an application did with the directory it found.
type HandoffReport struct {
	Kafka         string
	Error         string // why it did not start; empty when it did
	StartMillis   int64
	TotalRestored int64
	Partitions    []RestoredPartition
	Stores        map[string]StoreAnswer // what queries return, by store
}

// RestoredPartition is what was restored of one changelog partition.
type RestoredPartition struct {
	Topic          string
	Partition      int32
	Store          string
	StartingOffset int64
	EndingOffset   int64
	TotalRestored  int64
	Starts         int64 // more than 1: the task was wiped and restored again
}

// StoreAnswer is everything a store answers to interactive queries.
type StoreAnswer struct {
	Type   string   // the query that worked; "unreadable" when none did
	Rows   []string // "partition key = value", sorted
	Reason string   // why it is unreadable
}

// Differs says how the rows of another answer differ from those of a, which are
// wanted; "" when they do not.
func (a StoreAnswer) Differs(got StoreAnswer) string {
	if a.Type == "unreadable" {
		return "" // an empty store of some kinds: there is nothing to compare
	}
	if a.Type != got.Type {
		return fmt.Sprintf("type %s, wanted %s (%s)", got.Type, a.Type, got.Reason)
	}
	for i := range max(len(a.Rows), len(got.Rows)) {
		w, g := "nothing", "nothing"
		if i < len(a.Rows) {
			w = a.Rows[i]
		}
		if i < len(got.Rows) {
			g = got.Rows[i]
		}
		if w != g {
			return fmt.Sprintf("%q, wanted %q (%d rows, wanted %d)", g, w, len(got.Rows), len(a.Rows))
		}
	}
	return ""
}

// Untimed is the answer without the times of rows: which side of a foreign-key
// join sees a change first is a race, and the row has that side's time.
func (a StoreAnswer) Untimed() StoreAnswer {
	a.Rows = slices.Clone(a.Rows)
	for i, r := range a.Rows { // partition key = <value,time>, or ValueTimestampHeaders{value=…, timestamp=…, headers=…}
		if before, _, ok := strings.Cut(r, ", timestamp="); ok {
			a.Rows[i] = before
		} else if comma := strings.LastIndexByte(r, ','); comma >= 0 {
			a.Rows[i] = r[:comma]
		}
	}
	return a
}

// RestoredOf is the number of records restored into the named stores. In-memory
// stores restore always; a handed-over directory is judged by the others.
func (r HandoffReport) RestoredOf(stores ...string) int64 {
	var n int64
	for _, p := range r.Partitions {
		if slices.Contains(stores, p.Store) {
			n += p.TotalRestored
		}
	}
	return n
}

// Handoff starts the application on its directory as it is, asks every store
// for its rows and stops it.
func (h *Harness) Handoff(ctx context.Context, a App) (HandoffReport, error) {
	var report HandoffReport
	return report, h.session.do(ctx, &report, "handoff", a.args()...)
}

// Restore wipes the application's directory first: what is there afterwards is
// what this version of Kafka Streams restores from the changelogs.
func (h *Harness) Restore(ctx context.Context, a App) (HandoffReport, error) {
	var report HandoffReport
	return report, h.session.do(ctx, &report, "restore", a.args()...)
}

// Describe is the application's Topology#describe().
func (h *Harness) Describe(ctx context.Context, a App) (string, error) {
	var text string
	return text, h.session.do(ctx, &text, "describe", a.args()...)
}

// Described is what describe() prints, beside what Java's TopologyDescription
// says of the same topology, as JSON.
type Described struct {
	Text    string
	Objects json.RawMessage
}

// Described describes the application's topology in both ways.
func (h *Harness) Described(ctx context.Context, a App) (Described, error) {
	var d Described
	return d, h.session.do(ctx, &d, "described", a.args()...)
}

// End stops an application that was started, without waiting for its input.
func (h *Harness) End(ctx context.Context, a App) error {
	var reply struct{ Kafka string }
	return h.session.do(ctx, &reply, "close", a.args()...)
}

// ClusterID connects with a Java client properties file, as Kafka's own tools
// would, and returns the cluster's id.
func (h *Harness) ClusterID(ctx context.Context, commandConfig string) (string, error) {
	var id string
	return id, h.session.do(ctx, &id, "cluster-id", "--command-config", commandConfig)
}

// java is a command of the harness; its arguments follow.
func (h *Harness) java(flags ...string) *exec.Cmd {
	flags = append(flags, "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		// Topics of a new application are asked for before they exist.
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.admin.internals.PartitionLeaderStrategy=off",
		"-cp", h.classpath, "world.Main")
	return exec.Command("java", flags...)
}

// Logged is Handoff in a JVM of its own that logs as applications mostly do; it
// returns the log.
func (h *Harness) Logged(ctx context.Context, a App) (string, error) {
	cmd := h.java("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	at := len(cmd.Args) - 3 // before -cp
	cmd.Args = slices.Insert(cmd.Args, at, "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS")
	cmd.Args = append(append(cmd.Args, "handoff"), a.args()...)
	var log strings.Builder
	cmd.Stderr = &log
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Run()
	return log.String(), err
}

// runCommand runs a one-off JVM and returns its output; when ctx ends it is killed.
func runCommand(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return out.String() + diag.String(), err
	}
	return out.String(), nil
}

// parseReply decodes the last line of a one-off command.
func parseReply(out string, reply any) error {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), reply); err != nil {
		return fmt.Errorf("the harness replied %q: %w", tail(out, 500), err)
	}
	return nil
}

func tempFile(pattern string) (string, error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}
