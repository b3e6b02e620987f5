package cmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/inspect/orphans"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// gone: the application that ran beside the other is said to be gone. Its group,
// its directory and its internal topics are orphans, and nothing else is; the
// topics that are not Kafka Streams' own stay when they are deleted.
func (w *orphaned) gone(ctx context.Context, app worldtest.App, args []string) {
	args = append([]string{"--gone", app.ID}, args...)
	all := w.topics(ctx, app.ID)
	internal := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !internalName(name) })
	res := w.find(3, args...)
	for kind, want := range map[string][]string{orphans.KindTopic: internal, orphans.KindGroup: {app.ID}, orphans.KindApplicationDir: {app.Dir()}} {
		if got := orphansNamed(res, orphans.Unused, kind); !slices.Equal(got, want) || len(want) == 0 {
			w.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
	if len(res.Orphans) != len(internal)+2 {
		w.Errorf("besides: %+v", res.Orphans)
	}
	got := runWith(w.T, nil, append([]string{"orphans", "--delete", "--yes", "--wait", "2m", "--bootstrap-server", w.b.Bootstrap}, args...)...)
	if got.code != 0 {
		w.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	want := slices.DeleteFunc(all, internalName)
	if left := w.topics(ctx, app.ID); !slices.Equal(left, want) || len(want) == 0 {
		w.Errorf("left are %q, want %q", left, want)
	}
	if _, err := os.Stat(app.Dir()); !os.IsNotExist(err) {
		w.Errorf("%s is there: %v", app.Dir(), err)
	}
	if out, err := w.b.Tool(ctx, "consumer.group.ConsumerGroupCommand", "--list"); err != nil || slices.Contains(strings.Fields(out), app.ID) {
		w.Errorf("groups: %v %s", err, out)
	}
	w.find(0, args...)
}

// TestOrphansLinesWorld: offsets that are left over. A release that gives some
// stores other names is about to start: lines of .checkpoint are dropped, those
// of the stores that stay are not, and nothing of them is restored. A directory
// that was copied to another application id has rows of the old topics in its
// offsets families; they do no harm.
func TestOrphansLinesWorld(t *testing.T) {
	worldtest.Require(t)
	if !worldtest.Full() {
		t.Skip("make test-matrix runs it")
	}
	b := worldtest.StartBroker(t, worldtest.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
	defer cancel()
	t.Run("lines", func(t *testing.T) {
		w := &orphaned{T: t, b: b, h: worldtest.Streams(t, worldtest.Oldest), profile: worldtest.ProfileNamed("papi")}
		w.lines(ctx)
	})
	t.Run("rows", func(t *testing.T) {
		w := &orphaned{T: t, b: b, h: worldtest.Streams(t, worldtest.Newest), profile: worldtest.ProfileNamed("papi")}
		w.rows(ctx)
	})
}

// topologyOf is --topology with what the application describes.
func (w *orphaned) topologyOf(ctx context.Context, app worldtest.App) []string {
	text, err := w.h.Describe(ctx, app)
	w.must(err)
	path := filepath.Join(w.TempDir(), "topology.txt")
	w.must(os.WriteFile(path, []byte(text), 0o644))
	return []string{"--topology", app.ID + "=" + path, "--state-dir", app.StateDir}
}

func (w *orphaned) lines(ctx context.Context) {
	v1 := w.profile.App("lines", w.b.Bootstrap, w.TempDir(), false)
	_, err := w.h.Build(ctx, v1, worldtest.Input{Records: 300})
	w.must(err)
	kept := []string{"ts-kv", "session"}
	v2 := v1
	v2.Suffix, v2.Keep = "-b", kept
	before, err := w.h.Handoff(ctx, v1)
	w.must(err)
	args := w.topologyOf(ctx, v2)
	res := w.find(3, args...)
	if got := orphansNamed(res, orphans.Unused, orphans.KindCheckpoint); len(got) != 2 { // one of each task
		w.Errorf("lines: %q; %+v", got, res.Orphans)
	}
	got := runWith(w.T, nil, append([]string{"orphans", "--delete", "--yes", "--wait", "2m", "--bootstrap-server", w.b.Bootstrap}, args...)...)
	if got.code != 0 {
		w.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	for _, task := range []string{"0_0", "0_1"} {
		c, err := streams.ReadCheckpoint(filepath.Join(v1.Dir(), task, streams.CheckpointFile))
		w.must(err)
		for _, tp := range c.Keys() {
			if !slices.Contains([]string{"lines-ts-kv-changelog", "lines-session-changelog"}, tp.Topic) {
				w.Errorf("task %s keeps a line of %s", task, tp)
			}
		}
		if len(c) != len(kept) {
			w.Errorf("task %s: %v", task, c)
		}
	}
	is, err := w.h.Handoff(ctx, v2)
	w.must(err)
	if is.Error != "" || is.RestoredOf(kept...) != 0 {
		w.Errorf("%s: %d records restored", is.Error, is.RestoredOf(kept...))
	}
	for _, name := range kept {
		if diff := before.Stores[name].Differs(is.Stores[name]); diff != "" {
			w.Errorf("%s: %s", name, diff)
		}
	}
	w.find(0, args...)
}

func (w *orphaned) rows(ctx context.Context) {
	old := w.profile.App("rows", w.b.Bootstrap, w.TempDir(), false)
	_, err := w.h.Build(ctx, old, worldtest.Input{Records: 300})
	w.must(err)
	app := old.In(w.TempDir())
	app.ID, app.Topics = "renamed", old.ID
	w.must(os.CopyFS(app.Dir(), os.DirFS(old.Dir())))
	_, err = w.h.Build(ctx, app, worldtest.Input{Records: 10, First: 300})
	w.must(err)
	args := w.topologyOf(ctx, app)
	if got := orphansNamed(w.find(3, append([]string{"--gone", old.ID}, args...)...), orphans.Unused, orphans.KindTopic); len(got) < 8 {
		w.Errorf("topics of the old id: %q", got)
	}
	got := runWith(w.T, nil, append([]string{"orphans", "--gone", old.ID, "--delete", "--yes", "--wait", "2m", "--bootstrap-server", w.b.Bootstrap}, args...)...)
	if got.code != 0 {
		w.Fatalf("code %d: %s%s", got.code, got.out, got.err)
	}
	res := w.find(3, args...)
	found := orphansNamed(res, orphans.Unused, orphans.KindOffsetsRow)
	w.Logf("%d databases have rows of topics that are gone", len(found))
	if len(found) < 6 || len(found) != len(res.Orphans) {
		w.Errorf("%+v", res.Orphans)
	}
	for _, x := range res.Orphans {
		for _, l := range x.Lines {
			if !strings.HasPrefix(l.Topic, "rows-") {
				w.Errorf("%s: %+v", x.Name, l)
			}
		}
	}
	is, err := w.h.Handoff(ctx, app)
	w.must(err)
	var onDisk []string
	for _, s := range w.profile.Stores(app.ID) {
		if s.OnDisk() {
			onDisk = append(onDisk, s.Name)
		}
	}
	if is.Error != "" || is.RestoredOf(onDisk...) != 0 {
		w.Errorf("%s: %d records restored", is.Error, is.RestoredOf(onDisk...))
	}
}
