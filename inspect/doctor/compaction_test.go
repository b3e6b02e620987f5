package doctor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// oneTopic are facts of one changelog and its store in task 0_0.
func oneTopic(logged, rows int64, config map[string]string) *facts {
	kv := string(streams.TimestampedKV)
	s := &inspect.MapStore{App: "a", Task: "0_0", Name: "s", DataSize: rows, Kind: inspect.MapKind{Kind: &kv}}
	t := &topicFacts{name: "a-s-changelog", store: "s", kind: topology.Changelog, stores: []*inspect.MapStore{s}, config: config,
		info: &kafka.TopicInfo{Name: "a-s-changelog", Partitions: []kafka.PartitionInfo{{Replicas: 1, InSync: 1}}}, sizes: map[int32]int64{0: logged}, use: useOf(s)}
	f := &facts{o: &Options{Now: time.Now()}, app: "a", cluster: &clusterFacts{}, state: &inspect.Map{}}
	f.topics = []*topicFacts{t}
	return f
}

func TestCompaction(t *testing.T) {
	compact := map[string]string{"cleanup.policy": "compact", "segment.bytes": "1073741824", "segment.ms": "604800000", "min.cleanable.dirty.ratio": "0.5", "max.compaction.lag.ms": "9223372036854775807"}
	lazy := map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99", "max.compaction.lag.ms": "9223372036854775807"}
	bound := map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99", "max.compaction.lag.ms": "86400000"}
	tests := []struct {
		name         string
		logged, rows int64
		config       map[string]string
		want         op.Status
		says         string
	}{
		{"small", 200 << 20, 1 << 20, compact, op.OK, "1 smaller than"},
		{"compacted", 400 << 20, 100 << 20, compact, op.OK, "1 partitions compared"},
		{"all in the active segment", 900 << 20, 50 << 20, compact, op.Attention, "the active segment is never compacted"},
		{"more than a segment", 5 << 30, 50 << 20, compact, op.Attention, "log-cleaner.log"},
		{"no rows here", 5 << 30, 0, compact, op.Unmeasured, "do not tell"},
		{"the cleaner hardly begins", 1 << 20, 1 << 20, lazy, op.Attention, "nearly all of it is new"},
		{"but it must", 1 << 20, 1 << 20, bound, op.OK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Check{ID: "changelogs.compaction", Title: "t", run: changelogCompaction}
			list := runCheck(&c, oneTopic(tt.logged, tt.rows, tt.config))
			if len(list) != 1 || list[0].Status != tt.want || !strings.Contains(text(list), tt.says) {
				t.Errorf("wanted %s with %q:\n%s", tt.want, tt.says, text(list))
			}
		})
	}
}

// TestReplicas looks at topics that cannot be written, or soon not.
func TestReplicas(t *testing.T) {
	tests := []struct {
		name    string
		parts   []kafka.PartitionInfo
		isr     string
		brokers int
		want    op.Status
		says    string
	}{
		{"one broker", []kafka.PartitionInfo{{Replicas: 1, InSync: 1}}, "1", 1, op.OK, "nothing to replicate to"},
		{"one replica of three brokers", []kafka.PartitionInfo{{Replicas: 1, InSync: 1}}, "1", 3, op.Attention, "takes the state with it"},
		{"more in sync than there are", []kafka.PartitionInfo{{Replicas: 1, InSync: 1}}, "2", 1, op.Wrong, "acks=all"},
		{"too few in sync", []kafka.PartitionInfo{{Replicas: 3, InSync: 1}}, "2", 3, op.Wrong, "1 of 3 in sync"},
		{"no leader", []kafka.PartitionInfo{{Replicas: 3, InSync: 3, Leader: -1}}, "2", 3, op.Wrong, "without a leader"},
		{"as it should be", []kafka.PartitionInfo{{Replicas: 3, InSync: 3}}, "2", 3, op.OK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := oneTopic(1, 1, map[string]string{"min.insync.replicas": tt.isr})
			f.brokers = tt.brokers
			f.topics[0].info.Partitions = tt.parts
			f.topics[0].use.Replicas = tt.parts[0].Replicas
			c := Check{ID: "changelogs.replicas", Title: "t", run: topicReplicas}
			list := runCheck(&c, f)
			if len(list) != 1 || list[0].Status != tt.want || !strings.Contains(text(list), tt.says) {
				t.Errorf("wanted %s with %q:\n%s", tt.want, tt.says, text(list))
			}
		})
	}
}

// TestUnlogged: a store without an offset may be one that is not logged, which
// needs no changelog; one with an offset of it does.
func TestUnlogged(t *testing.T) {
	c, client := papiCluster(t, 10)
	app := state(t, "4.0.2-papi-alos")
	look := func() *Result {
		return run(t, Options{Path: app, AppID: papi, Client: client, Only: []string{"changelogs.exist"}})
	}
	if err := c.Delete(t.Context(), papi+"-plain-kv-changelog"); err != nil {
		t.Fatal(err)
	}
	want(t, look(), "changelogs.exist", op.Wrong, papi+"-plain-kv-changelog", "do not start")
	remove(t, filepath.Join(app, "0_0", streams.CheckpointFile)) // as while an exactly-once application runs
	want(t, look(), "changelogs.exist", op.Unmeasured, papi+"-plain-kv-changelog", "whether the store is logged")
}
