package orphans

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/clienttest"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

func cluster(t *testing.T) (*kafkatest.Cluster, *kafka.Client) {
	t.Helper()
	return clienttest.Start(t, kafkatest.Options{})
}

func find(t *testing.T, o Options) *Result {
	t.Helper()
	res, err := Find(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err, op.Tries(err))
	}
	return res
}

// told is what was found, a line each.
func told(res *Result) string {
	var b strings.Builder
	for _, x := range res.Orphans {
		fmt.Fprintf(&b, "%s %s %s: %s\n", x.Verdict, x.Kind, x.Name, x.Why)
	}
	return b.String()
}

// TestExpiredSegments is case K21: what has expired by stream time is an orphan
// when the changelog tells the retention, and likely when segments do; what has
// expired by the clock is none.
func TestExpiredSegments(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	id := filepath.Base(app)
	dir := filepath.Join(app, "0_0", "ts-win")
	es, err := os.ReadDir(dir)
	if err != nil || len(es) == 0 {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "segment")
	if err := os.Rename(filepath.Join(dir, es[0].Name()), kept); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("ts-win.%d", i*60_000)), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{StateDir: filepath.Dir(app), Apps: []string{id}}
	if got := told(find(t, o)); strings.Count(got, "likely segment directory "+dir) != 3 || strings.Contains(got, "orphan") {
		t.Errorf("by the segments:\n%s", got)
	}
	k, c := cluster(t)
	if err := k.Topic(id+"-ts-win-changelog", 2, "cleanup.policy", "compact,delete", "retention.ms", fmt.Sprint(24*3600_000+120_000)); err != nil {
		t.Fatal(err)
	}
	if err := k.ProduceAll(t.Context(), id+"-ts-win-changelog", kafkatest.Record{Key: []byte("k")}); err != nil {
		t.Fatal(err)
	}
	if err := k.Commit(t.Context(), id, id+"-ts-win-changelog", map[int32]int64{0: 1}); err != nil {
		t.Fatal(err)
	}
	o.Client = c
	got := told(find(t, o))
	for i, want := range []bool{true, true, true, false, false, false} {
		if line := fmt.Sprintf("orphan segment directory %s: expired by stream time", filepath.Join(dir, fmt.Sprintf("ts-win.%d", i*60_000))); strings.Contains(got, line) != want {
			t.Errorf("segment %d:\n%s", i, got)
		}
	}
}

// TestOddSegment: a segment between the others is likely an orphan, once.
func TestOddSegment(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	dir := filepath.Join(app, "0_0", "ts-win")
	es, err := os.ReadDir(dir)
	if err != nil || len(es) == 0 {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "segment")
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(dir, es[0].Name()))); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, start := range []int{600_000, 1_200_000, 1_800_000, 1_812_345} {
		if err := os.CopyFS(filepath.Join(dir, fmt.Sprintf("ts-win.%d", start)), os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
	}
	got := told(find(t, Options{StateDir: filepath.Dir(app)}))
	if !strings.HasPrefix(got, "likely segment directory "+dir+"/ts-win.1812345: it begins at no multiple") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

// TestLinesWithoutTopology: a line is an orphan when its topic does not exist and
// no store of it is there; other lines are not.
func TestLinesWithoutTopology(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	id := filepath.Base(app)
	path := filepath.Join(app, "0_0", streams.CheckpointFile)
	file, err := streams.ReadCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	file[streams.TopicPartition{Topic: id + "-gone-changelog"}] = 7
	file[streams.TopicPartition{Topic: id + "-in-memory-changelog"}] = 8
	if err := file.Write(path); err != nil {
		t.Fatal(err)
	}
	k, c := cluster(t)
	if err := k.Topic(id+"-in-memory-changelog", 1); err != nil {
		t.Fatal(err)
	}
	if err := k.Commit(t.Context(), id, id+"-in-memory-changelog", map[int32]int64{0: 1}); err != nil {
		t.Fatal(err)
	}
	res := find(t, Options{StateDir: filepath.Dir(app), Client: c})
	if len(res.Orphans) != 1 || res.Orphans[0].Kind != KindCheckpoint || len(res.Orphans[0].Lines) != 1 || res.Orphans[0].Lines[0] != (Line{id + "-gone-changelog", 0, 7}) {
		t.Errorf("%+v", res.Orphans)
	}
}

// TestPatterns: what a source's pattern matches is in use; one that cannot be
// read makes the topology unusable.
func TestPatterns(t *testing.T) {
	k, c := cluster(t)
	for _, name := range []string{"app-in-changelog", "app-x-changelog"} {
		if err := k.Topic(name, 1); err != nil {
			t.Fatal(err)
		}
	}
	model := func(pattern string) []Topology {
		m, err := topology.ParseText("Topologies:\n   Sub-topology: 0\n    Source: s (topics: "+pattern+")\n      --> none\n", topology.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return []Topology{{"app", "t.txt", &m.Topologies[0]}}
	}
	if got := told(find(t, Options{Client: c, Topologies: model("app-in.*")})); got != "orphan topic app-x-changelog: the topology of app does not have it\n" {
		t.Error(got)
	}
	_, err := Find(t.Context(), Options{Client: c, Topologies: model("a(?=b)")}, nil)
	optest.WantKind(t, err, op.Usage, "pattern", "t.txt")
}

// TestNothingKnown: names of applications of which nothing is known are not
// listed; the application says how many there are.
func TestNothingKnown(t *testing.T) {
	k, c := cluster(t)
	for _, name := range []string{"app-a-changelog", "app-v2-a-changelog"} {
		if err := k.Topic(name, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"app", "app-v2"} {
		if err := k.Commit(context.Background(), id, "app-a-changelog", map[int32]int64{0: 1}); err != nil {
			t.Fatal(err)
		}
	}
	res := find(t, Options{Client: c})
	if len(res.Orphans) > 0 || len(res.Applications) != 2 {
		t.Errorf("%s%+v", told(res), res.Applications)
	}
	for _, a := range res.Applications {
		if a.Undecided == 0 || a.Basis != ByNothing || a.Why == "" {
			t.Errorf("%+v", a)
		}
	}
}

func TestTransientID(t *testing.T) {
	const q = "_confluent-ksql-default_transient_T1_LHS_8456_1648000000000"
	for topic, want := range map[string]string{
		q + "-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000010-topic": q,
		q + "-Join-left-repartition":                                 q,
		q:                                                            "",
		q + "-topic":                                                 "",
		"orders-transient_x_12-a-changelog":                          "",
		"orders-1648000000000-a-changelog":                           "",
		"transient_":                                                 "",
	} {
		if got := transientID(topic); got != want {
			t.Errorf("%s: %q, want %q", topic, got, want)
		}
	}
}

func TestLooksInternal(t *testing.T) {
	for topic, want := range map[string]bool{
		"a-b-changelog": true, "a-b-c-repartition": true, "a-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000010-topic": true, "a-j-subscription-response-topic": true,
		"test-input-topic": false, "T1_LHS_topic": false, "audit-changelog": false, "-changelog": false, "changelog": false, "": false, "a-": false,
	} {
		if got := looksInternal(topic); got != want {
			t.Errorf("%q: %v", topic, got)
		}
	}
}

// FuzzNames: whatever a topic is called, an id that is found begins its name, and
// its pattern means this name.
func FuzzNames(f *testing.F) {
	f.Add("_confluent-ksql-default_transient_T1_LHS_8456_1648000000000-Join-left-repartition")
	f.Add("a.b-c-changelog")
	f.Fuzz(func(t *testing.T, topic string) {
		if id := transientID(topic); id != "" && !streams.IsInternalTopic(id, topic) {
			t.Errorf("%q is no id of %q", id, topic)
		}
		looksInternal(topic)
		if p := topicPattern(topic); streams.ValidateTopic(topic) == nil && strings.ReplaceAll(p, `\.`, ".") != topic {
			t.Errorf("pattern %q of %q", p, topic)
		}
	})
}
