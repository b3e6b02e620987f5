//go:build cgo

package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// realSources is case K12: the source topic has lost records that the stopped
// application had not read. The stores resume as if nothing were wrong; what is
// gone is lost, and what is left is read or not as auto.offset.reset says.
func realSources(t *testing.T, s *worldtest.Shared, client *kafka.Client) {
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		for _, policy := range []string{"", "latest", "none"} {
			if policy == "latest" && !exhaustive() {
				continue
			}
			t.Run(strings.Join([]string{v, policy}, " "), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				h := s.Streams(v)
				app := worldtest.ProfileNamed("papi").App("sources-"+strings.ReplaceAll(v, ".", "")+policy, s.Bootstrap, t.TempDir(), true)
				if _, err := h.Build(ctx, app, worldtest.Input{Records: 150}); err != nil {
					t.Fatal(err)
				}
				in := app.ID + "-in"
				committed := committedOf(ctx, t, client, app.ID, in)
				var records []worldtest.Record
				for _, key := range []string{"lost-1", "lost-2", "lost-3", "left"} {
					records = append(records, worldtest.Record{Key: []byte(key), Value: []byte("v")})
				}
				if err := worldtest.Produce(ctx, s.Bootstrap, in, records...); err != nil {
					t.Fatal(err)
				}
				if err := worldtest.MoveLogStart(ctx, s.Bootstrap, in, 0, committed+3); err != nil {
					t.Fatal(err)
				}
				set := map[string]string{"processing.guarantee": eos}
				told := "auto.offset.reset is earliest (Kafka Streams' default)"
				if policy != "" {
					app.Settings = map[string]string{"auto.offset.reset": policy}
					set["auto.offset.reset"], told = policy, "auto.offset.reset is "+policy+" (of the properties given)"
				}
				version, _ := streams.ParseVersion(v)
				res := run(t, Options{Path: app.Dir(), AppID: app.ID, Client: client, Kafka: version, Config: &AppConfig{Set: set}, Areas: []string{AreaRestart}})
				want(t, res, "restart.sources", op.Wrong, "3 records that the application has not read are gone",
					fmt.Sprintf("partition 0: committed %d, log start %d: OUT OF RANGE by 3 records", committed, committed+3), told, "nothing here does it for you")
				if f := found(res); len(f) != 1 {
					t.Errorf("found besides:\n%s", text(f))
				}
				for _, task := range res.Tasks {
					if task.Will != WillResume || task.Records == nil || *task.Records != 0 {
						t.Errorf("task %s: %s", task.Task, show(task))
					}
				}
				readOn(ctx, t, h, app, policy, func() bool { return committedOf(ctx, t, client, app.ID, in) >= committed+4 })
			})
		}
	}
}

// readOn starts the application on a source whose records are gone, and holds
// what it does against the policy.
func readOn(ctx context.Context, t *testing.T, h *worldtest.Harness, app worldtest.App, policy string, goesOn func() bool) {
	t.Helper()
	const refused = "No valid committed offset found"
	logged := len(h.Log())
	err := h.Start(ctx, app)
	for end := time.Now().Add(90 * time.Second); policy == "none"; time.Sleep(100 * time.Millisecond) {
		if strings.Contains(h.Log()[logged:], refused) {
			if err == nil {
				_ = h.End(ctx, app)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the application goes on: %v\n%s", err, h.Log()[logged:])
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	// One more record shows that it reads, once it has found where.
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		if err := worldtest.Produce(ctx, app.Bootstrap, app.ID+"-in", worldtest.Record{Key: []byte("other"), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
		if goesOn() {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not go on")
		}
	}
	is, err := h.Stop(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Join(is["plain-kv"].Rows, "\n")
	for key, there := range map[string]bool{"lost-": false, "left": policy != "latest", "other": true} {
		if strings.Contains(rows, key) != there {
			t.Errorf("a row of %q is there: %v\n%s", key, !there, rows)
		}
	}
}

func committedOf(ctx context.Context, t *testing.T, client *kafka.Client, group, topic string) int64 {
	t.Helper()
	all, err := client.GroupOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(o kafka.GroupOffset) bool { return o.Topic == topic && o.Partition == 0 })
	if i < 0 {
		t.Fatalf("%s has committed nothing of %s", group, topic)
	}
	return all[i].Offset
}

// realHosts: a task that lay on one host went on on another, and both have it.
// The one left over resumes from its own offset, with rows that the other has
// deleted since, when their tombstones are gone.
func realHosts(t *testing.T, s *worldtest.Shared, client *kafka.Client) {
	if !exhaustive() {
		t.Skip("make test-matrix runs it")
	}
	for _, v := range worldtest.Chosen(worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			h := s.Streams(v)
			here := worldtest.ProfileNamed("papi").App("hosts-"+strings.ReplaceAll(v, ".", ""), s.Bootstrap, t.TempDir(), false)
			there := here.In(t.TempDir())
			base := worldtest.InputBase(time.Now())
			for i, app := range []worldtest.App{here, there} {
				if _, err := h.Build(ctx, app, worldtest.Input{Records: 150, First: i * 150, Base: base}); err != nil {
					t.Fatal(err)
				}
			}
			version, _ := streams.ParseVersion(v)
			o := Options{Path: here.Dir(), AppID: here.ID, Client: client, Kafka: version, Also: []string{there.Dir()},
				Config: &AppConfig{Set: map[string]string{"processing.guarantee": alos}}, Areas: []string{AreaRestart}}
			told := run(t, o)
			want(t, told, "restart.two-hosts", op.Attention, "tasks 0_0, 0_1 lie here and under", "offsets here", "the older one may hold rows that were deleted since")
			if err := s.DropTombstones(ctx, here.ID+"-plain-kv-changelog"); err != nil {
				t.Fatal(err)
			}
			newer, err := h.Handoff(ctx, there)
			if err != nil || newer.Error != "" {
				t.Fatal(err, newer.Error)
			}
			older, err := h.Handoff(ctx, here)
			if err != nil || older.Error != "" {
				t.Fatal(err, older.Error)
			}
			restored := map[string]int64{}
			for _, p := range older.Partitions {
				restored[fmt.Sprintf("0_%d/%s", p.Partition, p.Store)] = p.TotalRestored
			}
			for _, task := range told.Tasks {
				if task.Will != WillResume {
					t.Errorf("task %s: %s", task.Task, show(task))
				}
				for _, x := range task.Stores {
					if n := restored[task.Task+"/"+x.Store]; x.Records != nil && (n > *x.Records || n == 0 && *x.Records > 0) {
						t.Errorf("%s of task %s replays %d records, predicted %d", x.Store, task.Task, n, *x.Records)
					}
				}
			}
			var zombies []string
			for _, row := range older.Stores["plain-kv"].Rows {
				if !slices.Contains(newer.Stores["plain-kv"].Rows, row) {
					zombies = append(zombies, row)
				}
			}
			if len(zombies) == 0 {
				t.Error("the older copy has no row that the newer one has not")
			}
			t.Logf("%d rows live on, as %v", len(zombies), zombies[:min(3, len(zombies))])

			// A copy of a directory has its process id as well.
			twin := here.In(t.TempDir())
			if err := os.CopyFS(twin.Dir(), os.DirFS(here.Dir())); err != nil {
				t.Fatal(err)
			}
			o.Also = []string{twin.Dir()}
			if list := of(run(t, o), "restart.two-hosts"); list[0].Status != op.Wrong || !strings.Contains(text(list), "same process id") {
				t.Errorf("%s", text(list))
			}
		})
	}
}

// realCluster is case K16: the directory of an application that worked on one
// cluster is started on another, where it has worked too, and less.
func realCluster(t *testing.T, s *worldtest.Shared, _ *kafka.Client) {
	if !exhaustive() {
		t.Skip("make test-matrix runs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	other := worldtest.StartBroker(t, worldtest.Options{ClusterID: "b3RoZXItY2x1c3Rlci1pZA"})
	client, err := kafka.Open(ctx, kafka.Config{Bootstrap: []string{other.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	var seen table
	for _, v := range worldtest.Chosen("4.0.2", worldtest.Newest) {
		for _, eos := range []bool{false, true} {
			id := fmt.Sprintf("moved-%s-%v", strings.ReplaceAll(v, ".", ""), eos)
			w := &realWorld{t: t, b: other, h: s.Streams(v), client: client, seen: &seen}
			app := worldtest.ProfileNamed("papi").App(id, s.Bootstrap, t.TempDir(), eos)
			there := app.In(t.TempDir())
			there.Bootstrap = other.Bootstrap
			for a, records := range map[*worldtest.App]int{&app: 300, &there: 30} {
				if _, err := w.h.Build(ctx, *a, worldtest.Input{Records: records}); err != nil {
					t.Fatalf("%s: %v", id, err)
				}
			}
			app.Bootstrap, w.app = other.Bootstrap, app
			version, _ := streams.ParseVersion(v)
			res := run(t, Options{Path: app.Dir(), AppID: id, Client: client, Kafka: version, Config: &AppConfig{Set: map[string]string{"processing.guarantee": guaranteeOf(app)}}, Areas: []string{AreaRestart}})
			want(t, res, "restart.out-of-range", op.Wrong, "do not fit this cluster", "cluster id b3RoZXItY2x1c3Rlci1pZA", "wipes state that the right one could resume")
			if err := w.judge(ctx, condition{name: "another cluster", task: "0_0", check: "restart.out-of-range", either: true}, app); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	slices.Sort(seen.rows)
	t.Logf("predicted | seen\n%s", strings.Join(seen.rows, "\n"))
}
