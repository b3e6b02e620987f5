package lint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/cmd"
	"sstool/inspect/lint"
	"sstool/internal/topology"
	"sstool/internal/worldtest"
)

// TestRealOperators is the proof on the real thing, for topologies of every
// operator: what describe() prints parses to what TopologyDescription says,
// object by object; the topics that lint derives are those that the running
// application makes, exactly; and lint finds nothing wrong with what runs.
func TestRealOperators(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{Config: patient})
	versions, full := []string{worldtest.Newest}, os.Getenv("SSTOOL_MATRIX") == "full"
	if full {
		versions = worldtest.Versions()
	}
	for i, v := range versions {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			realTexts(t, h)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 6) // applications mostly wait
			for j, o := range worldtest.Operators() {
				// With names and optimised, or neither: every name is seen, in half the time.
				if o.Odd || !full && o.Optimized() != strings.Contains(o.Profile, "-named") {
					continue
				}
				wg.Go(func() {
					sem <- struct{}{}
					defer func() { <-sem }()
					app := o.App(fmt.Sprintf("app%d%02d", i, j), b.Bootstrap, t.TempDir())
					t.Run(o.Name, func(t *testing.T) { realOperator(t, h, o, app) })
				})
			}
		})
	}
}

// realTopics are the topics that the application has made, and those that it
// would have made had the stores without a changelog one.
func realTopics(t *testing.T, o worldtest.Operator, app worldtest.App) []string {
	t.Helper()
	names, err := worldtest.TopicNames(context.Background(), app.Bootstrap, app.ID+"-")
	if err != nil {
		t.Fatal(err)
	}
	users := []string{app.ID + "-out"}
	for _, in := range o.Inputs {
		users = append(users, app.ID+"-"+in)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(users, name) })
	for _, store := range o.Unlogged {
		names = append(names, app.ID+"-"+store+"-changelog")
	}
	slices.Sort(names)
	return names
}

// describedFile holds what Kafka Streams describes, for tests without Java.
const describedFile = "../../testdata/topologies/described.json"

// realTexts compares what this version describes, which is checked object by
// object, with the file. UPDATE_GOLDEN=1 rewrites it, by the newest version.
func realTexts(t *testing.T, h *worldtest.Harness) {
	type described struct {
		Name    string          `json:"name"`
		Text    string          `json:"text"`
		Objects json.RawMessage `json:"objects"`
	}
	var now []described
	for _, o := range worldtest.Operators() {
		d, err := h.Described(context.Background(), o.App("a", "127.0.0.1:1", "unused"))
		if err != nil {
			t.Fatal(err)
		}
		sameObjects(t, d)
		now = append(now, described{o.Name, d.Text, d.Objects})
	}
	if os.Getenv("UPDATE_GOLDEN") != "" && h.Version == worldtest.Newest {
		b, err := json.MarshalIndent(now, "", " ")
		if err == nil {
			err = os.WriteFile(describedFile, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(describedFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept []described
	if err := json.Unmarshal(b, &kept); err != nil || len(kept) != len(now) {
		t.Fatalf("%s: %d texts, want %d, %v", describedFile, len(kept), len(now), err)
	}
	for i, d := range now { // sets are printed in any order
		if d.Name != kept[i].Name || canonical(t, d.Text) != canonical(t, kept[i].Text) {
			t.Errorf("%s of %s is not what %s holds: UPDATE_GOLDEN=1 rewrites it with %s\n%s", d.Name, h.Version, describedFile, worldtest.Newest, d.Text)
		}
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	m, err := topology.ParseText(text, topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return topology.Print(&m.Topologies[0])
}

// patient is a broker's setting: dozens of applications that start at once on a
// busy machine keep it from its heartbeats.
var patient = map[string]string{"broker.session.timeout.ms": "30000"}

func realOperator(t *testing.T, h *worldtest.Harness, o worldtest.Operator, app worldtest.App) {
	ctx := context.Background()
	text, err := h.Describe(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx, app); err != nil {
		t.Fatal(err)
	}
	optimization := o.Settings["topology.optimization"]
	args := []string{"--bootstrap-server", app.Bootstrap, "--state-dir", app.StateDir, "--topology-optimization", optimization}
	res := runLint(t, text, app.ID, args...)
	got := slices.Concat(res.Applications[0].Changelogs, res.Applications[0].Internal)
	slices.Sort(got)
	// An application that matches topics by a pattern runs before it has seen them.
	want := realTopics(t, o, app)
	for end := time.Now().Add(time.Minute); !slices.Equal(got, want) && time.Now().Before(end); want = realTopics(t, o, app) {
		time.Sleep(200 * time.Millisecond)
	}
	if !slices.Equal(got, want) {
		t.Errorf("derived\n  %s\nreal\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	for _, f := range runLint(t, text, app.ID, args...).Findings {
		// Outputs that nobody writes to do not exist yet; that withNumberOfPartitions was called is no more than noted.
		if strings.ContainsAny(f.Rule[:1], "PSI") && !strings.Contains(f.Message, "output topic") && f.Severity != lint.Info || f.Rule[0] == 'C' && f.Rule != "C8" && f.Rule != "C11" {
			t.Errorf("about an application that runs: %s %s %s", f.Severity, f.Rule, f.Message)
		}
	}
	if err := h.End(ctx, app); err != nil {
		t.Error(err)
	}
}

// TestRealStreamsGroup reads the topologies that brokers hold of applications
// with group.protocol=streams: with the nodes where a plugin keeps
// descriptions, and with what the coordinator needs where it does not.
func TestRealStreamsGroup(t *testing.T) {
	worldtest.Require(t)
	ctx := context.Background()
	plugin := map[string]string{"group.streams.topology.description.plugin.class": "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin"}
	maps.Copy(plugin, patient)
	b := worldtest.StartBroker(t, worldtest.Options{Config: plugin})
	versions, full := []string{worldtest.Newest}, os.Getenv("SSTOOL_MATRIX") == "full"
	if full {
		versions = []string{"4.2.1", "4.3.1", worldtest.Newest} // before, the protocol was a preview
	}
	for i, v := range versions {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			for j, o := range worldtest.Operators() {
				pattern := o.Profile == "op-processors" || strings.HasPrefix(o.Profile, "op-stateless") // not for this protocol, says Kafka 4.4
				if o.Odd || pattern || !full && o.Name != "table-joins-named-optimised" && o.Name != "stream-joins" {
					continue
				}
				t.Run(o.Name, func(t *testing.T) {
					app := o.App(fmt.Sprintf("streams%d%02d", i, j), b.Bootstrap, t.TempDir())
					app.Settings = map[string]string{"group.protocol": "streams", "topology.optimization": o.Settings["topology.optimization"]}
					realStreamsGroup(t, ctx, h, app)
				})
				t.Run(o.Name+"-partial", func(t *testing.T) {
					app := o.App(fmt.Sprintf("partial%d%02d", i, j), b.Bootstrap, t.TempDir())
					app.Settings = map[string]string{"group.protocol": "streams", "topology.optimization": o.Settings["topology.optimization"]}
					if v == worldtest.Newest {
						app.Settings["topology.description.push.enabled"] = "false"
					}
					realPartial(t, ctx, h, app)
				})
			}
		})
	}
}

func realStreamsGroup(t *testing.T, ctx context.Context, h *worldtest.Harness, app worldtest.App) {
	text, err := h.Describe(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx, app); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.End(ctx, app); err != nil {
			t.Error(err)
		}
	}()
	args := []string{"--bootstrap-server", app.Bootstrap, "--topology-optimization", app.Settings["topology.optimization"]}
	of := runLint(t, text, app.ID, args...)
	held := runLint(t, "", app.ID, args...)
	complete := func(r lint.Result) bool {
		return !slices.ContainsFunc(r.Findings, func(f lint.Finding) bool { return f.Rule == "I4" })
	}
	// Members of 4.4 push the description once the group is there.
	for end := time.Now().Add(time.Minute); h.Version == worldtest.Newest && !complete(held) && time.Now().Before(end); held = runLint(t, "", app.ID, args...) {
		time.Sleep(100 * time.Millisecond)
	}
	if h.Version == worldtest.Newest {
		sameJudgement(t, held, of)
		if out, code := runCommand(t, text, append([]string{"topology", "diff", "--application-id", app.ID}, args...)...); code != 0 || !strings.Contains(out, "nothing is lost") {
			t.Errorf("diff of what runs and its text: %d, %s", code, out)
		}
	} else if complete(held) {
		t.Error("members before 4.4 push no description")
	}
	drawn, _ := runCommand(t, "", "topology", "draw", "--application-id", app.ID, "--bootstrap-server", app.Bootstrap)
	for _, topic := range of.Applications[0].Changelogs {
		if !strings.Contains(drawn, topic) {
			t.Errorf("%s is not drawn", topic)
		}
	}
}

// realPartial is an application of whose topology brokers hold topics only.
func realPartial(t *testing.T, ctx context.Context, h *worldtest.Harness, app worldtest.App) {
	text, err := h.Describe(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(ctx, app); err != nil {
		t.Fatal(err)
	}
	args := []string{"--bootstrap-server", app.Bootstrap, "--topology-optimization", app.Settings["topology.optimization"]}
	of := runLint(t, text, app.ID, args...)
	held := runLint(t, "", app.ID, append(args, "--state-dir", app.StateDir)...)
	a, b := held.Applications[0], of.Applications[0]
	for _, names := range [][2][]string{{a.Changelogs, b.Changelogs}, {a.Internal, b.Internal}} {
		slices.Sort(names[0])
		slices.Sort(names[1])
		if !slices.Equal(names[0], names[1]) {
			t.Errorf("held %s, of the text %s", names[0], names[1])
		}
	}
	generated := map[string]bool{}
	for _, f := range of.Findings {
		if f.Rule == "C8" && f.Kind != "processor" {
			generated[f.Subject] = true
		}
	}
	incomplete := false
	for _, f := range held.Findings {
		switch {
		case f.Rule == "I4":
			incomplete = true
		case f.Rule == "C8" && !generated[f.Subject], f.Severity != lint.Info && f.Rule != "C8":
			t.Errorf("about an application that runs: %s %s %s", f.Severity, f.Rule, f.Message)
		}
	}
	if !incomplete {
		t.Error("nothing says that nodes are missing")
	}
	if out, code := runCommand(t, text, append([]string{"topology", "diff", "--application-id", app.ID}, args...)...); code != 0 {
		t.Errorf("diff of what runs and its text: %d, %s", code, out)
	}
	if err := h.End(ctx, app); err != nil {
		t.Error(err)
	}
}

// sameJudgement compares what is found in what brokers hold with what is found
// in the text: all but lines, and patterns and extractors, which the wire
// does not have.
func sameJudgement(t *testing.T, got, want lint.Result) {
	t.Helper()
	a, b := got.Applications[0], want.Applications[0]
	a.File = b.File
	slices.Sort(a.Internal)
	slices.Sort(b.Internal)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("held\n%+v\nof the text\n%+v", a, b)
	}
	if a, b := said(got), said(want); !slices.Equal(a, b) {
		t.Errorf("held\n%s\nof the text\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

func said(r lint.Result) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Rule != "T4" {
			out = append(out, fmt.Sprint(f.Severity, " ", f.Rule, " ", f.Subject, " ", f.Fix))
		}
	}
	slices.Sort(out)
	return out
}

// sameObjects compares the parsed text with Java's objects.
func sameObjects(t *testing.T, d worldtest.Described) {
	t.Helper()
	var objects []topology.Subtopology
	if err := json.Unmarshal(d.Objects, &objects); err != nil {
		t.Fatal(err)
	}
	m, err := topology.ParseText(d.Text, topology.Options{})
	if err != nil || len(m.Problems) > 0 || len(m.Topologies) != 1 {
		t.Fatalf("%v, %+v", err, m)
	}
	got := map[string]topology.Node{}
	ids := map[string]string{}
	for s, n := range m.Topologies[0].All() {
		n.Line, n.NextLine, n.PrevLine = 0, 0, 0
		got[n.Name], ids[n.Name] = *n, fmt.Sprint(s.ID, s.Global)
	}
	count := 0
	for _, s := range objects {
		for _, n := range s.Nodes {
			count++
			for _, list := range []*[]string{&n.Topics, &n.Stores, &n.Next, &n.Prev} {
				if len(*list) == 0 {
					*list = nil
				}
			}
			if !reflect.DeepEqual(got[n.Name], n) || ids[n.Name] != fmt.Sprint(s.ID, s.Global) {
				t.Errorf("sub-topology %s: %+v, in Java %d: %+v", ids[n.Name], got[n.Name], s.ID, n)
			}
		}
	}
	if count != len(got) || len(m.Topologies[0].Subtopologies) != len(objects) {
		t.Errorf("%d nodes, in Java %d", len(got), count)
	}
}

// runLint is the command, on a text in a file; "" for no text.
func runLint(t *testing.T, text, appID string, args ...string) lint.Result {
	t.Helper()
	out, _ := runCommand(t, text, append([]string{"lint", "--application-id", appID, "-o", "json", "--fail-on", "never"}, args...)...)
	var res lint.Result
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return res
}

// runCommand is sstool; a text is its last argument, in a file.
func runCommand(t *testing.T, text string, args ...string) (stdout string, code int) {
	t.Helper()
	if text != "" {
		file := filepath.Join(t.TempDir(), "topology.txt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var out, diag bytes.Buffer
	code = cmd.Run(ctx, args, cmd.IO{In: strings.NewReader(""), Out: &out, Err: &diag, Env: func(string) (string, bool) { return "", false }})
	if code != 0 && code != 3 {
		t.Fatalf("sstool %s: exit code %d\n%s", strings.Join(args, " "), code, diag.String())
	}
	return out.String(), code
}
