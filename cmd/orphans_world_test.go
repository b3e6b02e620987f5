package cmd

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/inspect/orphans"
	"sstool/internal/worldtest"
)

// TestOrphansWorld is the proof on the real thing: an application with
// foreign-key joins is released again with other names and numbers, beside one
// whose id begins with its id. What sstool orphans finds is exactly what the new
// release does not use, as the same release under an id of its own shows; nothing
// of the other application's. Deleted, with kill -9 in between, both
// applications start as before: nothing restored, the same answers.
func TestOrphansWorld(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			w := &orphaned{T: t, b: b, h: worldtest.Streams(t, v), profile: worldtest.ProfileNamed("tjoin"), eos: v != worldtest.Oldest}
			ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
			defer cancel()
			w.run(ctx)
		})
	}
}

type orphaned struct {
	*testing.T
	b       *worldtest.Broker
	h       *worldtest.Harness
	profile worldtest.Profile
	eos     bool
}

func (w *orphaned) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *orphaned) run(ctx context.Context) {
	id := "or.ph-" + strings.ReplaceAll(w.h.Version, ".", "")
	state := w.TempDir()
	v1 := w.profile.App(id, w.b.Bootstrap, state, w.eos)
	other := w.profile.App(id+"-v2", w.b.Bootstrap, state, w.eos)
	v2 := v1
	v2.Suffix, v2.Shift = "-b", 70
	control := v2.In(w.TempDir())
	control.ID, control.Topics = "control-"+strings.ReplaceAll(w.h.Version, ".", ""), id
	in := worldtest.Input{Records: 300, Base: worldtest.InputBase(time.Now())}

	_, err := w.h.Build(ctx, v1, in)
	w.must(err)
	before := w.topics(ctx, id)
	_, err = w.h.Build(ctx, other, in)
	w.must(err)
	w.must(worldtest.CreateTopic(ctx, w.b.Bootstrap, id+"-extra", 2, nil))
	// The same release under an id of its own shows what it uses. Its input is
	// there already.
	_, err = w.h.Handoff(ctx, control)
	w.must(err)
	started, err := w.h.Handoff(ctx, v2)
	w.must(err)
	if started.Error != "" {
		w.Fatal(started.Error)
	}
	startedOther, err := w.h.Handoff(ctx, other)
	w.must(err)

	dir := w.TempDir()
	for name, app := range map[string]worldtest.App{"new.txt": v2, "other.txt": other} {
		text, err := w.h.Describe(ctx, app)
		w.must(err)
		w.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	topology := []string{"--topology", id + "=" + filepath.Join(dir, "new.txt")}
	both := append(slices.Clone(topology), "--topology", other.ID+"="+filepath.Join(dir, "other.txt"))

	// Topics: those of the first release without those that the control has too.
	used := map[string]bool{}
	for _, name := range w.topics(ctx, control.ID) {
		used[id+strings.TrimPrefix(name, control.ID)] = true
	}
	var want []string
	for _, name := range before {
		if internalName(name) && !used[name] {
			want = append(want, name)
		}
	}
	fk := slices.ContainsFunc(want, func(s string) bool { return strings.HasSuffix(s, "-topic") })
	if len(want) < 6 || !fk {
		w.Fatalf("the first release left only %q", want)
	}
	res := w.find(3, append(both, "--state-dir", state)...)
	if got := orphansNamed(res, orphans.Unused, orphans.KindTopic); !slices.Equal(got, want) {
		w.Errorf("topics\n got %q\nwant %q", got, want)
	}
	if res.Count(orphans.Likely)+res.Count(orphans.Unclear) > 0 {
		w.Errorf("%+v", res.Orphans)
	}
	// Directories: the databases below are those that the control does not make.
	wantDirs := w.databases(v1.Dir())
	for _, rel := range w.databases(control.Dir()) {
		wantDirs = slices.DeleteFunc(wantDirs, func(d string) bool { return d == rel })
	}
	var gotDirs []string
	for _, x := range res.Orphans {
		if strings.HasSuffix(x.Kind, "directory") {
			if x.Bytes == nil || *x.Bytes == 0 || x.LastWrite == nil {
				w.Errorf("%s is not measured: %+v", x.Name, x)
			}
			for _, d := range w.databases(x.Name) {
				rel, err := filepath.Rel(v1.Dir(), filepath.Join(x.Name, d))
				w.must(err)
				gotDirs = append(gotDirs, rel)
			}
		}
		if strings.HasPrefix(x.Name, filepath.Join(state, other.ID)) || strings.HasPrefix(x.Name, other.ID) {
			w.Errorf("%s is of the other application", x.Name)
		}
		if x.Kind == orphans.KindTopic && (x.Bytes == nil || x.Records == nil || *x.Records > 0 && x.LastWrite == nil) {
			w.Errorf("%s is not measured: %+v", x.Name, x)
		}
	}
	slices.Sort(gotDirs)
	if len(wantDirs) == 0 || !slices.Equal(gotDirs, wantDirs) {
		w.Errorf("databases\n got %q\nwant %q", gotDirs, wantDirs)
	}
	w.Logf("%d topics, %d databases, %d committed offsets, %d checkpoints; %d bytes", len(want), len(wantDirs), len(orphansNamed(res, orphans.Unused, orphans.KindOffsets)), len(orphansNamed(res, orphans.Unused, orphans.KindCheckpoint)), res.Bytes)

	// A healthy application gives nothing; without the other's topology nothing
	// of the other's is an orphan.
	if res := w.find(0, append(slices.Clone(both), "--state-dir", state, "--application-id", other.ID)...); len(res.Orphans) > 0 {
		w.Errorf("of a healthy application: %+v", res.Orphans)
	}
	res = w.find(3, append(topology, "--state-dir", state, "--application-id", id)...)
	for _, x := range res.Orphans {
		if x.Verdict != orphans.Unclear && x.Kind == orphans.KindTopic && strings.HasPrefix(x.Name, other.ID+"-") {
			w.Errorf("%s is %s without the topology of %s", x.Name, x.Verdict, other.ID)
		}
	}

	// Kafka's own tool understands the commands that are printed.
	res = w.find(3, append(both, "--state-dir", state)...)
	first := res.Orphans[slices.IndexFunc(res.Orphans, func(x orphans.Orphan) bool { return x.Kind == orphans.KindTopic })]
	_, pattern, _ := strings.Cut(first.Remove, " --delete --topic ")
	if out, err := w.b.Tool(ctx, "TopicCommand", "--delete", "--topic", strings.Trim(pattern, "'")); err != nil {
		w.Errorf("%s: %v %s", first.Remove, err, out)
	}
	if left := w.topics(ctx, id); slices.Contains(left, first.Name) || !slices.Contains(left, want[1]) {
		w.Errorf("after %s there are %q", first.Remove, left)
	}

	deleted := first.Name // and its offsets with it
	first = res.Orphans[slices.IndexFunc(res.Orphans, func(x orphans.Orphan) bool { return x.Kind == orphans.KindOffsets && x.Topic != deleted })]
	_, words, _ := strings.Cut(first.Remove, w.b.Bootstrap+" ")
	if out, err := w.b.Tool(ctx, "consumer.group.ConsumerGroupCommand", strings.Fields(words)...); err != nil || strings.Contains(out, "Error") {
		w.Errorf("%s: %v %s", first.Remove, err, out)
	}
	if left := orphansNamed(w.find(3, append(both, "--state-dir", state)...), orphans.Unused, orphans.KindOffsets); slices.Contains(left, first.Name) || slices.Contains(left, id+": "+deleted) {
		w.Errorf("after %s there are %q", first.Remove, left)
	}

	w.deleteKilled(append(both, "--state-dir", state))
	left := w.topics(ctx, id)
	for _, name := range before {
		if gone := slices.Contains(want, name); gone == slices.Contains(left, name) {
			w.Errorf("topic %s, to be deleted: %v", name, gone)
		}
	}
	for _, d := range wantDirs {
		if _, err := os.Stat(filepath.Join(v1.Dir(), d)); err == nil {
			w.Errorf("%s is there", d)
		}
	}
	if res := w.find(0, append(both, "--state-dir", state)...); len(res.Orphans) > 0 {
		w.Errorf("found after it: %+v", res.Orphans)
	}
	w.unharmed(ctx, v2, started)
	w.unharmed(ctx, other, startedOther)
	if now := w.topics(ctx, id); !slices.Equal(now, left) {
		w.Errorf("topics after the start: %q, before it %q", now, left)
	}
	w.gone(ctx, other, append(slices.Clone(topology), "--state-dir", state))
	if now := w.topics(ctx, id); !slices.Equal(now, slices.DeleteFunc(left, func(name string) bool { return strings.HasPrefix(name, other.ID+"-") && internalName(name) })) {
		w.Errorf("topics: %q", now)
	}
}

// unharmed starts an application, which must do no worse than it did before.
func (w *orphaned) unharmed(ctx context.Context, app worldtest.App, before worldtest.HandoffReport) {
	logged := len(w.h.Log())
	is, err := w.h.Handoff(ctx, app)
	if err != nil || is.Error != "" {
		w.Fatalf("%s: %v %s", app.ID, err, is.Error)
	}
	onDisk := []string{}
	for _, s := range w.profile.Stores(app.ID) {
		if s.OnDisk() {
			onDisk = append(onDisk, s.Name, s.Name+app.Suffix)
		}
	}
	if n := is.RestoredOf(onDisk...); n > 0 {
		w.Errorf("%s restored %d records into stores on disk", app.ID, n)
	}
	for name, a := range before.Stores {
		if diff := a.Differs(is.Stores[name]); diff != "" {
			w.Errorf("%s: store %s answers otherwise: %s", app.ID, name, diff)
		}
	}
	if strings.Contains(w.h.Log()[min(logged, len(w.h.Log())):], "TaskCorrupted") {
		w.Errorf("%s: Kafka Streams wiped a task", app.ID)
	}
	w.Logf("%s: %d stores answer the same, %d records restored in all", app.ID, len(before.Stores), is.TotalRestored)
}

// deleteKilled deletes with kill -9 after a few items, and again for the rest.
func (w *orphaned) deleteKilled(args []string) {
	exe, err := os.Executable()
	w.must(err)
	args = append([]string{"orphans", "--delete", "--yes", "--wait", "2m", "--progress", "json", "--bootstrap-server", w.b.Bootstrap}, args...)
	for _, after := range []int{1, 4} {
		cmd := exec.Command(exe, args...)
		cmd.Args[0] = "sstool"
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+w.TempDir())
		stderr, err := cmd.StderrPipe()
		w.must(err)
		w.must(cmd.Start())
		items := 0
		for dec := json.NewDecoder(stderr); ; {
			var e struct {
				Type string `json:"type"`
			}
			if dec.Decode(&e) != nil {
				break
			}
			if e.Type == "item" {
				if items++; items == after {
					_ = cmd.Process.Kill()
				}
			}
		}
		if err := cmd.Wait(); err == nil || items < after {
			w.Errorf("not killed: %v after %d items", err, items)
		}
	}
	got := runWith(w.T, nil, args...)
	if got.code != 0 || !strings.Contains(got.out, "Deleted ") {
		w.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
}

// find runs the command as JSON.
func (w *orphaned) find(code int, args ...string) *orphans.Result {
	w.Helper()
	got := runWith(w.T, nil, append([]string{"orphans", "--bootstrap-server", w.b.Bootstrap, "-o", "json"}, args...)...)
	var res orphans.Result
	if err := json.Unmarshal([]byte(got.out), &res); err != nil || got.code != code {
		w.Fatalf("sstool orphans %s: code %d, want %d, %v\n%s%s", strings.Join(args, " "), got.code, code, err, got.out, got.err)
	}
	return &res
}

func orphansNamed(res *orphans.Result, verdict, kind string) []string {
	var out []string
	for _, x := range res.Orphans {
		if x.Verdict == verdict && x.Kind == kind {
			out = append(out, x.Name)
		}
	}
	slices.Sort(out)
	return out
}

// internalName says whether Kafka Streams gives such names.
func internalName(topic string) bool {
	return strings.HasSuffix(topic, "-changelog") || strings.HasSuffix(topic, "-repartition") || strings.HasSuffix(topic, "-topic")
}

// topics are the topics of one application id, sorted.
func (w *orphaned) topics(ctx context.Context, id string) []string {
	all, err := worldtest.TopicNames(ctx, w.b.Bootstrap, id+"-")
	w.must(err)
	slices.Sort(all)
	return all
}

// databases are the databases below a directory, relative to it.
func (w *orphaned) databases(dir string) []string {
	var out []string
	w.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "CURRENT" {
			rel, err := filepath.Rel(dir, filepath.Dir(path))
			if err != nil {
				return err
			}
			out = append(out, rel)
		}
		return err
	}))
	slices.Sort(out)
	return out
}

// TestOrphansHeldWorld: of an application with group.protocol=streams brokers
// tell what it uses, also when it has stopped: no text of its topology is needed.
func TestOrphansHeldWorld(t *testing.T) {
	worldtest.Require(t)
	w := &orphaned{T: t, b: worldtest.StartBroker(t, worldtest.Options{}), h: worldtest.Streams(t, worldtest.Newest), profile: worldtest.ProfileNamed("kv4")}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	app := w.profile.App("held", w.b.Bootstrap, t.TempDir(), false)
	app.Settings = map[string]string{"group.protocol": "streams"}
	_, err := w.h.Build(ctx, app, worldtest.Input{Records: 200, Base: worldtest.InputBase(time.Now())})
	w.must(err)
	for _, name := range []string{"held-left-changelog", "held-over-repartition", "held-tbl-changelogs"} {
		w.must(worldtest.CreateTopic(ctx, w.b.Bootstrap, name, 1, nil))
	}
	res := w.find(3, "--application-id", "held", "--state-dir", app.StateDir)
	if got, want := orphansNamed(res, orphans.Unused, orphans.KindTopic), []string{"held-left-changelog", "held-over-repartition"}; !slices.Equal(got, want) || len(res.Orphans) != 2 {
		t.Errorf("got %q, want %q; %+v", got, want, res.Orphans)
	}
	if a := res.Applications; len(a) != 1 || a[0].Basis != orphans.ByBrokers || a[0].Group == "absent" {
		t.Errorf("%+v", a)
	}
	got := runWith(t, nil, "orphans", "--application-id", "held", "--delete", "--yes", "--wait", "2m", "--bootstrap-server", w.b.Bootstrap)
	if got.code != 0 || !strings.Contains(got.out, "Deleted 2 orphans") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.err)
	}
	w.find(0, "--application-id", "held", "--state-dir", app.StateDir)
	report, err := w.h.Handoff(ctx, app)
	if err != nil || report.Error != "" || report.RestoredOf("tbl-store") > 0 {
		t.Errorf("%v %s: restored %d", err, report.Error, report.TotalRestored)
	}
}
