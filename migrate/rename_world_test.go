//go:build cgo

package migrate_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
	"sstool/internal/worldtest"
	"sstool/migrate"
)

const suffix = "-v2"

// TestRenameRealApplications is the proof on the real thing: an application
// builds state of every kind and stops; all of its stores with a changelog of
// their own are renamed; its next release, with the new names, restores nothing
// that has a directory, answers what the first one did, and goes on as if there
// had been no cut.
func TestRenameRealApplications(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	full := os.Getenv("SSTOOL_MATRIX") == "full"
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait
			for _, p := range worldtest.Profiles() {
				if !p.Supports(v) || !full && !slices.Contains([]string{"ssjoin", "tjoin"}, p.Name) {
					continue
				}
				for _, eos := range []bool{false, true} {
					if !full && eos != (p.Name == "ssjoin") {
						continue
					}
					wg.Go(func() {
						sem <- struct{}{}
						defer func() { <-sem }()
						name := p.Name + map[bool]string{true: "-eos"}[eos]
						t.Run(name, func(t *testing.T) { renameApplication(t, b, h, p, eos, name+"-ren-"+strings.ReplaceAll(v, ".", "")) })
					})
				}
			}
		})
	}
}

func renameApplication(t *testing.T, b *worldtest.Broker, h *worldtest.Harness, p worldtest.Profile, eos bool, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err, op.Tries(err))
		}
	}
	first := worldtest.Input{Records: min(p.Records, 500), Base: worldtest.InputBase(time.Now())}
	then := worldtest.Input{Records: 200, First: first.Records, Base: first.Base}

	// An application that is never cut says what is right.
	control := p.App(id+"-control", b.Bootstrap, t.TempDir(), eos)
	_, err := h.Build(ctx, control, first)
	must(err)
	_, err = h.Build(ctx, control, then)
	must(err)
	want, err := h.Handoff(ctx, control)
	must(err)

	v1 := p.App(id, b.Bootstrap, t.TempDir(), eos)
	_, err = h.Build(ctx, v1, first)
	must(err)
	before, err := h.Handoff(ctx, v1)
	must(err)

	v2 := v1
	v2.Suffix = suffix
	// Stores without a changelog of their own keep their names: rename does not
	// move them, and Kafka Streams up to 4.2 takes a new, empty one for complete,
	// as the line of its source topic in the .checkpoint stands.
	for _, s := range p.Stores(id) {
		if s.Source {
			v2.Keep = append(v2.Keep, s.Name)
		}
	}
	c, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{b.Bootstrap}})
	must(err)
	defer c.Close()
	names := renamed(ctx, t, h, c, v1, v2)
	moves, topics, err := migrate.ResolveRename(ctx, c, migrate.RenameOptions{ApplicationID: id, Names: names})
	must(err)
	plan, err := migrate.PlanMigration(ctx, c, migrate.MigrationOptions{
		Kind: migrate.Rename, OldApp: id, NewApp: id, Moves: moves, Topics: topics,
		StateDir: v1.StateDir, LedgerDir: t.TempDir(), Clone: migrate.NewCloner(v1.StateDir),
	}, nil)
	must(err)
	res, err := plan.Apply(ctx, nil)
	must(err)
	for _, copied := range res.Copies {
		if !copied.Verified || len(copied.Unmeasured) > 0 {
			t.Errorf("%+v", copied)
		}
	}

	after, err := h.Handoff(ctx, v2)
	if err == nil && after.Error != "" {
		err = fmt.Errorf("%s", after.Error)
	}
	must(err)
	onDisk := map[string]bool{}
	for _, s := range p.Stores(id) {
		onDisk[s.Name] = s.OnDisk()
	}
	newName := map[string]string{}
	for _, m := range moves {
		newName[m.OldStore] = m.NewStore
		for _, r := range after.Partitions {
			if r.Store == m.NewStore && onDisk[m.OldStore] && (r.TotalRestored != 0 || r.Starts > 1) {
				t.Errorf("%s restored: %+v", m.NewStore, r)
			}
		}
		if was, is := before.Stores[m.OldStore], after.Stores[m.NewStore]; was.Type != is.Type || !slices.Equal(was.Rows, is.Rows) {
			t.Errorf("%s answers %d rows (%s), %s had %d (%s)", m.NewStore, len(is.Rows), is.Type, m.OldStore, len(was.Rows), was.Type)
		}
	}
	for _, name := range v2.Keep {
		if was, is := before.Stores[name], after.Stores[name]; was.Type != is.Type || !slices.Equal(was.Rows, is.Rows) {
			t.Errorf("%s answers %d rows (%s), it had %d (%s)", name, len(is.Rows), is.Type, len(was.Rows), was.Type)
		}
	}
	t.Logf("%d stores, %d topics, %d rows of %d stores asked", len(moves), len(res.Copies), rowsOf(before, newName), len(before.Stores))

	// It goes on: the same answers as the application that was not cut.
	_, err = h.Build(ctx, v2, then)
	must(err)
	got, err := h.Handoff(ctx, v2)
	must(err)
	for old, new := range newName {
		was, is := want.Stores[old], got.Stores[new]
		if strings.HasPrefix(old, "fk-") {
			was, is = was.Untimed(), is.Untimed()
		}
		if was.Type != is.Type || !slices.Equal(was.Rows, is.Rows) {
			t.Errorf("going on, %s answers %d rows, without the cut it is %d:\n%s", new, len(is.Rows), len(was.Rows), strings.Join(difference(was.Rows, is.Rows), "\n"))
		}
	}

	// The new state is in use: the old one goes, by name.
	end, err := migrate.PlanFinish(ctx, c, migrate.EndOptions{File: plan.File, StateDir: v1.StateDir, Clone: migrate.NewCloner(v1.StateDir)})
	must(err)
	if len(end.Topics) == 0 {
		t.Errorf("nothing may go: %+v", end.Kept)
	}
	_, err = end.Apply(ctx, nil)
	must(err)
	last, err := h.Handoff(ctx, v2)
	must(err)
	for _, r := range last.Partitions {
		if old := oldName(newName, r.Store); old != "" && onDisk[old] && r.TotalRestored != 0 {
			t.Errorf("after finish %s restored: %+v", r.Store, r)
		}
	}
}

// renamed pairs the logged stores of the two releases.
func renamed(ctx context.Context, t *testing.T, h *worldtest.Harness, c *kafka.Client, v1, v2 worldtest.App) (out []migrate.NamePair) {
	t.Helper()
	stores := func(a worldtest.App) map[string]bool {
		text, err := h.Describe(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		m, err := topology.ParseText(text, topology.Options{ApplicationID: a.ID})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for i := range m.Topologies {
			for _, s := range m.Topologies[i].Stores() {
				out[s.Name] = true
			}
		}
		return out
	}
	v2.Topics = v1.ID
	old := stores(v1)
	all, err := c.Topics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, topic := range all {
		exists[topic.Name] = true
	}
	for _, new := range slices.Sorted(maps.Keys(stores(v2))) {
		was := strings.Replace(new, suffix, "", 1)
		if was != new && old[was] && exists[streams.ChangelogTopic(v1.ID, was)] {
			out = append(out, migrate.NamePair{Old: was, New: new})
		}
	}
	if len(out) == 0 {
		t.Fatalf("no store of %v is renamed", old)
	}
	return out
}

func oldName(names map[string]string, new string) string {
	for o, n := range names {
		if n == new {
			return o
		}
	}
	return ""
}

func rowsOf(r worldtest.HandoffReport, names map[string]string) (n int) {
	for old := range names {
		n += len(r.Stores[old].Rows)
	}
	return n
}

// difference are the first rows that only one side has.
func difference(want, got []string) (out []string) {
	for _, r := range want {
		if !slices.Contains(got, r) {
			out = append(out, "- "+r)
		}
	}
	for _, r := range got {
		if !slices.Contains(want, r) {
			out = append(out, "+ "+r)
		}
	}
	return out[:min(len(out), 8)]
}
