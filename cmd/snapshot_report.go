package cmd

import (
	"fmt"
	"strings"
	"time"

	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/restore/snapshots"
)

// snapshotTime is a time in a table.
func snapshotTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// snapshotOffsets is how far a store has come, shortly.
func snapshotOffsets(os []snapshot.Offset) string {
	var out []string
	for _, o := range os {
		out = append(out, fmt.Sprint(o.Offset))
	}
	return strings.Join(out, " ")
}

func renderSnapshotPush(w *tableWriter, r snapshots.PushResult) {
	var rows [][]string
	for _, t := range r.Tasks {
		for _, s := range t.Stores {
			rows = append(rows, []string{t.Task, s.Store, s.Kind, snapshotOffsets(s.Offsets), w.count(int64(s.Files)), w.bytes(s.Bytes), w.count(int64(s.New)), w.bytes(s.NewBytes)})
		}
	}
	w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "KIND", wide: true}, {name: "OFFSET", right: true}, {name: "FILES", right: true}, {name: "BYTES", right: true},
		{name: "NEW FILES", short: "NEW", right: true}, {name: "NEW BYTES", short: "BYTES NEW", right: true}}, rows)
	did := "pushed to"
	if r.Snapshot == "" {
		did = "would be pushed to"
	}
	isNew := "nothing is new"
	if r.Total.New > 0 {
		isNew = fmt.Sprintf("%d files, %s, are new (%s)", r.Total.New, w.bytes(r.Total.NewBytes), strings.TrimSpace(w.share(r.Total.NewBytes, r.Total.Bytes)))
	}
	w.line("\n%d files, %s, %s %s: %s.", r.Total.Files, w.bytes(r.Total.Bytes), did, printable(r.Bucket), isNew)
	if r.Previous != "" {
		var why []string
		for _, x := range []struct {
			what string
			s    snapshots.Share
		}{{"rows flushed since", r.Flushed}, {"rewritten by compaction", r.Compacted}, {"MANIFEST, offsets and the like", r.Small}, {"stores it did not hold", r.First}} {
			if x.s.New > 0 {
				why = append(why, fmt.Sprintf("%s %s (%d files)", x.what, w.bytes(x.s.NewBytes), x.s.New))
			}
		}
		if len(why) > 0 {
			w.line("New since %s: %s.", r.Previous, strings.Join(why, ", "))
		}
	}
	if r.Space != "plain" {
		w.line("Content is encrypted (%s).", r.Space)
	}
	if r.Snapshot == "" && r.Follower {
		w.line("A follower keeps %s: a push asks it for a checkpoint. This is what it has flushed.", printable(r.StateDir))
	}
	if r.Snapshot == "" {
		w.line("Nothing was changed.")
	} else {
		if r.Follower {
			w.line("It is a checkpoint that the follower of %s has made.", printable(r.StateDir))
		}
		w.line("Snapshot %s in %s.", r.Snapshot, humanSeconds(r.Seconds))
	}
}

func renderSnapshotList(w *tableWriter, l snapshotList) {
	if len(l.Snapshots) == 0 && !w.machine() {
		w.line("%s: no snapshot.", printable(l.Bucket))
		return
	}
	var rows [][]string
	for _, s := range l.Snapshots {
		encrypted := "no"
		if s.Encrypted {
			encrypted = "yes"
		}
		rows = append(rows, []string{s.ID, s.ApplicationID, snapshotTime(s.Created), s.Host, s.Source, encrypted, w.count(int64(len(s.Tasks))), strings.Join(s.Tasks, " "),
			w.count(int64(s.Stores)), w.count(int64(s.Files)), w.bytes(s.Bytes), w.bytes(s.OwnBytes)})
	}
	w.table([]column{{name: "SNAPSHOT"}, {name: "APPLICATION"}, {name: "CREATED", wide: true}, {name: "HOST"}, {name: "SOURCE", wide: true}, {name: "ENCRYPTED", wide: true}, {name: "TASKS", right: true},
		{name: "TASK NAMES", wide: true}, {name: "STORES", right: true}, {name: "FILES", right: true}, {name: "BYTES", right: true}, {name: "NEW", right: true}}, rows)
}

func renderSnapshotShow(w *tableWriter, d snapshotShow) {
	for _, m := range d.Manifests {
		n, bytes := m.Size()
		or := func(s, none string) string {
			if s == "" {
				return none
			}
			return s
		}
		if !w.machine() {
			w.pairs([][2]string{
				{"snapshot", m.ID}, {"application", m.ApplicationID}, {"created", snapshotTime(m.Created) + " on " + or(m.Host, "an unknown host") + " by " + m.MadeBy},
				{"source", m.Source}, {"guarantee", or(m.Guarantee, "not known")}, {"cluster", or(m.ClusterID, "not known")}, {"kafka", or(m.KafkaVersion, "not known")},
				{"objects", m.Space}, {"size", fmt.Sprintf("%d files, %s", n, w.bytes(bytes))},
			})
			w.line("")
		}
		var rows [][]string
		for _, t := range m.Tasks {
			for _, s := range t.Stores {
				var size int64
				for _, f := range s.Files {
					size += f.Size
				}
				var topics []string
				for _, o := range s.Offsets {
					topics = append(topics, fmt.Sprintf("%s-%d:%d", o.Topic, o.Partition, o.Offset))
				}
				rows = append(rows, []string{t.Name, s.Name, s.Kind, w.count(int64(s.Databases)), strings.Join(s.Families, " "), s.RocksDB, w.count(int64(len(s.Files))), w.bytes(size),
					snapshotTime(s.Written), snapshotOffsets(s.Offsets), strings.Join(topics, " ")})
			}
		}
		w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "KIND"}, {name: "DATABASES", wide: true, right: true}, {name: "FAMILIES", wide: true}, {name: "ROCKSDB", wide: true}, {name: "FILES", right: true},
			{name: "BYTES", right: true}, {name: "WRITTEN"}, {name: "OFFSET", right: true}, {name: "CHANGELOG", wide: true}}, rows)
	}
}

func renderSnapshotPull(w *tableWriter, p snapshots.PullPlan) {
	var rows [][]string
	for _, t := range p.Tasks {
		rows = append(rows, []string{t.Task, t.Snapshot, snapshotTime(t.Written), t.Host, strings.Join(t.Stores, " "), w.count(int64(len(t.Stores))), w.count(int64(t.Files)), w.bytes(t.Bytes), t.State})
	}
	w.table([]column{{name: "TASK"}, {name: "SNAPSHOT"}, {name: "WRITTEN"}, {name: "HOST", wide: true}, {name: "STORE NAMES", wide: true}, {name: "STORES", right: true}, {name: "FILES", right: true},
		{name: "BYTES", right: true}, {name: "STATE"}}, rows)
	pulled := false
	for _, t := range p.Tasks {
		pulled = pulled || t.State != snapshots.ToPull
	}
	if !pulled {
		w.line("\nPlan: download %d files, %s, into %s. Nothing was changed.", p.Files, w.bytes(p.Bytes), printable(p.Into))
		for _, s := range p.Warnings {
			w.line("warning: %s", printable(s))
		}
		return
	}
	w.line("\n%s: %d files, %s, of which %s downloaded in %s; every file has the hash it was pushed with.", printable(p.Into), p.Files, w.bytes(p.Bytes), w.bytes(p.Fetched), humanSeconds(p.Seconds))
	w.line("Kafka Streams replays from the offsets of the snapshot on.")
}

func renderSnapshotVerify(w *tableWriter, v snapshot.Verified) {
	if w.machine() || len(v.Damages) > 0 {
		var rows [][]string
		for _, d := range v.Damages {
			rows = append(rows, []string{d.What, d.Object, d.Why, d.Files[0] + more(len(d.Files)-1), strings.Join(d.Snapshots, " ")})
		}
		w.table([]column{{name: "PROBLEM"}, {name: "OBJECT"}, {name: "WHY", wide: true}, {name: "FILE"}, {name: "SNAPSHOTS"}}, rows)
		w.line("")
	}
	w.line("%s, %s, %s read: %s.", counted(len(v.Snapshots), "snapshot"), counted(v.Objects, "object"), w.bytes(v.Bytes), map[bool]string{true: "all are what the manifests say", false: fmt.Sprintf("%d missing or wrong", len(v.Damages))}[len(v.Damages) == 0])
}

// damaged is the finding of a verification, or nil.
func damaged(v *snapshot.Verified) error {
	if len(v.Damages) == 0 {
		return nil
	}
	return op.Errorf(op.Problems, "%s missing or wrong", counted(len(v.Damages), "object")).
		WithTry("pull an older snapshot; sstool snapshot push --rewrite from a state directory that has these files makes them right")
}

func renderSnapshotPrunePlan(w *tableWriter, p snapshot.Pruned) { renderPruned(w, p, true) }

func renderSnapshotPrune(w *tableWriter, p snapshot.Pruned) { renderPruned(w, p, false) }

func renderPruned(w *tableWriter, p snapshot.Pruned, plan bool) {
	var rows [][]string
	gone := "deleted"
	if plan {
		gone = "delete"
	}
	for _, k := range p.Keep {
		rows = append(rows, []string{k.ID, k.ApplicationID, snapshotTime(k.Created), "keep", k.Why})
	}
	for _, d := range p.Drop {
		rows = append(rows, []string{d.ID, d.ApplicationID, snapshotTime(d.Created), gone, ""})
	}
	w.table([]column{{name: "SNAPSHOT"}, {name: "APPLICATION"}, {name: "CREATED"}, {name: "STATE"}, {name: "WHY"}}, rows)
	w.line("\n%s of %s (%s) %s: named by no snapshot for long enough.", counted(p.Deleted, "object"), w.count(int64(p.Objects)), w.bytes(p.Freed), map[bool]string{true: "would be deleted", false: "deleted"}[plan])
	if s := p.Remarks(); s != "" {
		w.line("%s.", s)
	}
	if n := len(p.Partial); n > 0 {
		w.line("%s of killed pushes and prunes %s.", counted(n, "half-written file"), map[bool]string{true: "would be deleted", false: "deleted"}[plan])
	}
	if p.Pending > 0 {
		w.line("%s under way: what it names stays.", counted(p.Pending, "push"))
	}
	if plan {
		w.line("Nothing was changed.")
	}
}
