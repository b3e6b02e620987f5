package restore

import (
	"strings"
	"testing"
	"time"

	"sstool/internal/snapshot"
	"sstool/internal/streams"
)

// TestSnapshotRefused changes one fact after another of a snapshot that can be
// used: each time the store is restored in full, and the reason says why.
func TestSnapshotRefused(t *testing.T) {
	config := map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "86400000"}
	for _, c := range []struct {
		name   string
		change func(p *Plan, u *Unit, m *snapshot.Manifest)
		want   string
	}{
		{"fine", func(*Plan, *Unit, *snapshot.Manifest) {}, ""},
		{"no tail", func(_ *Plan, u *Unit, m *snapshot.Manifest) {
			u.Parts[0].End, u.Parts[0].To = 50, 50
			m.Tasks[0].Files[0].Modified = time.Now().Add(-48 * time.Hour)
		}, ""},
		{"trimmed up to it", func(_ *Plan, u *Unit, _ *snapshot.Manifest) { u.Parts[0].LogStart = 50 }, ""},
		{"at-least-once from exactly-once", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Guarantee = string(ExactlyOnce) }, ""},
		{"unknown task", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Name = "0_1" }, "no snapshot holds"},
		{"unknown store", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Stores[0].Name = "x" }, "does not hold it"},
		{"no sub-topology", func(_ *Plan, u *Unit, _ *snapshot.Manifest) { u.Task.Known = false }, "name is not known"},
		{"another cluster", func(p *Plan, _ *Unit, _ *snapshot.Manifest) { p.ClusterID = "d" }, "of cluster c"},
		{"no cluster", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.ClusterID = "" }, "without a cluster"},
		{"another topic", func(_ *Plan, u *Unit, _ *snapshot.Manifest) { u.topicID = "02" }, "created anew"},
		{"no topic", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Stores[0].Offsets[0].TopicID = "" }, "had no topic"},
		{"trimmed", func(_ *Plan, u *Unit, _ *snapshot.Manifest) { u.Parts[0].LogStart = 51 }, "below the log start 51"},
		{"cut back", func(_ *Plan, u *Unit, _ *snapshot.Manifest) { u.Parts[0].End = 49 }, "beyond the end 49"},
		{"too old", func(_ *Plan, _ *Unit, m *snapshot.Manifest) {
			m.Tasks[0].Files[0].Modified = time.Now().Add(-25 * time.Hour)
		}, "tombstones"},
		{"dates of the future", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Created = time.Now().Add(-25 * time.Hour) }, "tombstones"},
		{"a clock ahead", func(_ *Plan, _ *Unit, m *snapshot.Manifest) {
			m.Created = time.Now().Add(time.Hour)
			m.Tasks[0].Files[0].Modified = m.Created
		}, "cannot be told"},
		{"a clock a little ahead", func(_ *Plan, _ *Unit, m *snapshot.Manifest) {
			m.Created = time.Now().Add(time.Minute)
			m.Tasks[0].Files[0].Modified = m.Created
		}, ""},
		{"not cleanly", func(p *Plan, _ *Unit, m *snapshot.Manifest) {
			p.Options.Guarantee, m.Guarantee = ExactlyOnce, string(AtLeastOnce)
		}, "aborted"},
		{"no offset", func(_ *Plan, _ *Unit, m *snapshot.Manifest) {
			m.Tasks[0].Stores[0].Offsets[0].Offset = streams.OffsetUnknown
		}, "has no offset"},
		{"another partition", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Stores[0].Offsets[0].Partition = 1 }, "has no offset"},
		{"segmented", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Stores[0].Segmented = true }, "segmented"},
		{"plain", func(_ *Plan, _ *Unit, m *snapshot.Manifest) { m.Tasks[0].Stores[0].Families = []string{"default"} }, "no column family"},
		{"headers", func(_ *Plan, _ *Unit, m *snapshot.Manifest) {
			m.Tasks[0].Stores[0].Families = append(m.Tasks[0].Stores[0].Families, streams.TimestampHeadersFamily)
		}, "column family"},
		{"segments", func(_ *Plan, u *Unit, m *snapshot.Manifest) {
			u.Request.Store = streams.Store{Name: "s", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Hour}
			s := &m.Tasks[0].Stores[0]
			s.Segmented, s.Families, s.Files = true, []string{"default"}, []snapshot.File{{Path: "s/s.3600001/CURRENT"}}
		}, "segment interval"},
		{"right segments", func(_ *Plan, u *Unit, m *snapshot.Manifest) {
			u.Request.Store = streams.Store{Name: "s", Kind: streams.Window, Retention: time.Hour, SegmentInterval: time.Hour}
			s := &m.Tasks[0].Stores[0]
			s.Segmented, s.Families, s.Files = true, []string{"default"}, []snapshot.File{{Path: "s/s.3600000/CURRENT"}}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Plan{ClusterID: "c", Options: Options{Snapshot: &SnapshotOptions{}}}
			task := &TaskPlan{Known: true}
			u := &Unit{Task: task, Topic: "a-s-changelog", topicID: "01", Request: StoreRequest{Store: streams.Store{Name: "s", Kind: streams.TimestampedKV}},
				Parts: []PartRange{{LogStart: 3, From: 3, End: 100, To: 100}}}
			m := &snapshot.Manifest{ID: "id", Created: time.Now(), ClusterID: "c", Tasks: []snapshot.Task{{Name: "0_0",
				Files: []snapshot.File{{Path: streams.CheckpointFile, Modified: time.Now()}},
				Stores: []snapshot.Store{{Name: "s", Databases: 1, Families: []string{"default", streams.TimestampFamily, streams.OffsetsFamily},
					Offsets: []snapshot.Offset{{Topic: "a-s-changelog", TopicID: "01", Offset: 49, Home: streams.CheckpointFile}}}}}}}
			c.change(p, u, m)
			if err := p.originate([]*snapshot.Manifest{m}, task, u, config); err != nil {
				t.Fatal(err)
			}
			if got := u.Origin.InFull; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("in full because %q, want %q", got, c.want)
			}
			if from := u.Parts[0].From; c.want == "" && from != 50 || c.want != "" && from != 3 {
				t.Errorf("from %d", from)
			}
		})
	}
}

// A changelog that keeps tombstones for no time at all is not one that keeps them
// for ever.
func TestDeleteRetention(t *testing.T) {
	for _, c := range []struct {
		policy, ms string
		limited    bool
	}{{"compact", "86400000", true}, {"compact,delete", "1", true}, {"compact", "0", true}, {"delete", "0", false}, {"compact", "", false}} {
		config := map[string]string{"cleanup.policy": c.policy, "delete.retention.ms": c.ms}
		if d := deleteRetention(config); d > 0 != c.limited {
			t.Errorf("%v: %s", config, d)
		}
		if _, _, old := tooOld(t.TempDir(), "none", config); old != c.limited {
			t.Errorf("%v: state of unknown age is too old: %v", config, old)
		}
	}
}
