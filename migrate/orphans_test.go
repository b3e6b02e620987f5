package migrate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sstool/internal/files"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// orphanScene is a state directory with one application.
func orphanScene(t *testing.T) (state string, items []OrphanItem) {
	t.Helper()
	state = t.TempDir()
	put := func(path, text string) string {
		path = filepath.Join(state, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("app/0_0/rocksdb/old/CURRENT", "x")
	put("app/0_0/rocksdb/kept/CURRENT", "x")
	put("app/7_0/rocksdb/kept/CURRENT", "x")
	cp := put("app/0_0/.checkpoint", "0\n2\napp-kept-changelog 0 5\napp-old-changelog 0 7\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(cp, old, old); err != nil {
		t.Fatal(err)
	}
	lines := OrphanItem{Do: DropLines, Name: cp, ApplicationID: "app"}
	lines.AddLine(streams.TopicPartition{Topic: "app-old-changelog"}, 7)
	return state, []OrphanItem{
		lines,
		{Do: RemoveDirectory, Name: filepath.Join(state, "app/0_0/rocksdb/old"), ApplicationID: "app"},
		{Do: RemoveDirectory, Name: filepath.Join(state, "app/7_0"), ApplicationID: "app"},
	}
}

func TestOrphansOfADirectory(t *testing.T) {
	state, items := orphanScene(t)
	cp := items[0].Name
	plan, err := PlanOrphans(t.Context(), nil, OrphansOptions{Items: items, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	// What a run has left that was killed between moving and removing goes too.
	if err := os.MkdirAll(filepath.Join(state, trash, "app/7_0/rocksdb"), 0o755); err != nil {
		t.Fatal(err)
	}
	res, err := plan.Apply(t.Context(), nil)
	if err != nil || !res.Done {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"app/0_0/rocksdb/old": false, "app/0_0/rocksdb/kept/CURRENT": true, "app/7_0": false, ".sstool": false} {
		if files.Exists(filepath.Join(state, path)) != want {
			t.Errorf("%s: there is %v", path, !want)
		}
	}
	c, err := streams.ReadCheckpoint(cp)
	info, statErr := os.Stat(cp)
	if err != nil || statErr != nil || len(c) != 1 || time.Since(info.ModTime()) < time.Minute {
		t.Errorf("%v, %v, %v", c, err, info.ModTime())
	}
	// Once more: everything is as it should be.
	for i := range plan.Items {
		if err := plan.delete(t.Context(), &plan.Items[i]); err != nil {
			t.Errorf("%s again: %v", plan.Items[i].Name, err)
		}
	}
}

// TestOrphansKilled stops before each item, and between moving a directory away
// and removing it: each is there whole or gone, and another run does the rest.
func TestOrphansKilled(t *testing.T) {
	for at := range 4 {
		state, items := orphanScene(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := 0
		plan, err := PlanOrphans(ctx, nil, OrphansOptions{Items: items, StateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		if at == 3 { // moved, not removed
			if err := files.MakeDirs(state, filepath.Join(trash, "app/0_0/rocksdb")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(state, "app/0_0/rocksdb/old"), filepath.Join(state, trash, "app/0_0/rocksdb/old")); err != nil {
				t.Fatal(err)
			}
		} else {
			_, err = plan.Apply(ctx, func(e op.Event) {
				if e.Type == op.Phase && at == 0 {
					cancel()
				}
				if e.Type == op.Item {
					if done++; done == at {
						cancel()
					}
				}
			})
			optest.WantKind(t, err, op.Declined, "are deleted, the others are as they were")
		}
		cancel()
		again, err := PlanOrphans(t.Context(), nil, OrphansOptions{Items: items, StateDir: state})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Apply(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"app/0_0/rocksdb/old": false, "app/0_0/rocksdb/kept/CURRENT": true, "app/7_0": false, trash: false} {
			if files.Exists(filepath.Join(state, path)) != want {
				t.Errorf("stopped at %d: %s: there is %v", at, path, !want)
			}
		}
	}
}

// TestOrphansElsewhere: nothing but what lies in the application's directory is
// removed, whatever the items say.
func TestOrphansElsewhere(t *testing.T) {
	state, _ := orphanScene(t)
	for _, x := range []OrphanItem{
		{Do: RemoveDirectory, Name: state, ApplicationID: "app"},
		{Do: RemoveDirectory, Name: filepath.Dir(state), ApplicationID: "app"},
		{Do: RemoveDirectory, Name: filepath.Join(state, "app-v2"), ApplicationID: "app"},
		{Do: RemoveDirectory, Name: filepath.Join(state, "app/../other"), ApplicationID: "app"},
		{Do: DropLines, Name: "/etc/passwd", ApplicationID: "app"},
		{Do: RemoveLeftover, Name: filepath.Join(state, "app")},
		{Do: "burn", Name: filepath.Join(state, "app")},
	} {
		if _, err := PlanOrphans(t.Context(), nil, OrphansOptions{Items: []OrphanItem{x}, StateDir: state}); err == nil {
			t.Errorf("%+v is planned", x)
		}
	}
	_, err := PlanOrphans(t.Context(), nil, OrphansOptions{Items: []OrphanItem{{Do: DeleteTopic, Name: "t"}}})
	optest.WantKind(t, err, op.Usage, "no cluster")
}

// TestOrphansChanged: a topic that has got records or was made anew, and what a
// second look does not find, stops the run before anything is deleted.
func TestOrphansChanged(t *testing.T) {
	k := startKafka(t, kafkatest.Options{})
	c := openKafka(t, k)
	ctx := t.Context()
	state, items := orphanScene(t)
	for _, name := range []string{"app-a-changelog", "app-b-changelog"} {
		if err := k.Topic(name, 1); err != nil {
			t.Fatal(err)
		}
		ti, err := c.Topic(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, OrphanItem{Do: DeleteTopic, Name: name, ApplicationID: "app", Owners: []string{"app"}, TopicID: idOf(ti), Ends: map[int32]int64{0: 0}})
	}
	apply := func(still func(context.Context) ([]OrphanItem, error)) error {
		t.Helper()
		plan, err := PlanOrphans(ctx, c, OrphansOptions{Items: items, StateDir: state, Still: still})
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Apply(ctx, nil)
		if !files.Exists(filepath.Join(state, "app/7_0")) {
			t.Error("something was deleted")
		}
		return err
	}
	optest.WantKind(t, apply(func(context.Context) ([]OrphanItem, error) { return items[1:], nil }), op.Precondition, ".checkpoint may no longer go")
	bad := errors.New("no answer")
	if err := apply(func(context.Context) ([]OrphanItem, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
	// What is gone already is as it should be.
	one := items[4]
	if err := k.Topic("app-c-changelog", 1); err != nil {
		t.Fatal(err)
	}
	one.Name, one.TopicID = "app-c-changelog", ""
	plan, err := PlanOrphans(ctx, c, OrphansOptions{Items: []OrphanItem{one}, Still: func(context.Context) ([]OrphanItem, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Delete(ctx, "app-c-changelog"); err != nil {
		t.Fatal(err)
	}
	if res, err := plan.Apply(ctx, nil); err != nil || !res.Done {
		t.Error(err)
	}
	if err := k.ProduceAll(ctx, "app-b-changelog", kafkatest.Record{Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	optest.WantKind(t, apply(nil), op.Precondition, "app-b-changelog-0 ends at 1, not at 0")
	items[4].Ends, items[4].TopicID = nil, "another"
	optest.WantKind(t, apply(nil), op.Precondition, "was made anew")
}
