package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/clienttest"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// run is Run for a test; nothing of a real directory may fail it.
func run(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// state is a real application's directory, written just now.
func state(t *testing.T, name string) (app string) {
	t.Helper()
	_, app = lsmtest.Unpack(t, name)
	return app
}

// of are the findings of one check.
func of(r *Result, id string) []op.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(x op.Finding) bool { return x.ID != id })
}

// text is everything that the findings say.
func text(list []op.Finding) string {
	var b strings.Builder
	for _, x := range list {
		b.WriteString(string(x.Status) + " " + x.Subject + ": " + x.Title + " " + x.Reason + "\n")
		for _, s := range slices.Concat(x.Evidence, []string{x.Consequence}, x.Remedy) {
			b.WriteString("  " + s + "\n")
		}
	}
	return b.String()
}

// want checks that exactly one finding of the check has the status, and that
// its text has all of the words.
func want(t *testing.T, r *Result, id string, status op.Status, words ...string) {
	t.Helper()
	list := of(r, id)
	if len(list) != 1 || list[0].Status != status {
		t.Fatalf("%s: wanted one %s, have:\n%s", id, status, text(list))
	}
	for _, w := range words {
		if !strings.Contains(text(list), w) {
			t.Errorf("%s: no %q in:\n%s", id, w, text(list))
		}
	}
}

// found are the warnings and problems.
func found(r *Result) []op.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(x op.Finding) bool { return !x.Status.Found() })
}

// start is what happens to a task.
func start(t *testing.T, r *Result, task string) TaskStart {
	t.Helper()
	for _, s := range r.Tasks {
		if s.Task == task {
			return s
		}
	}
	t.Fatalf("no task %s in %v", task, r.Tasks)
	return TaskStart{}
}

// cluster is an embedded Kafka and a client of it.
func cluster(t *testing.T) (*kafkatest.Cluster, *kafka.Client) {
	t.Helper()
	return clienttest.Start(t, kafkatest.Options{})
}

// fill makes a topic of so many partitions, each with n records.
func fill(t *testing.T, c *kafkatest.Cluster, topic string, partitions int32, n int, configs ...string) {
	t.Helper()
	if err := c.Topic(topic, partitions, configs...); err != nil {
		t.Fatal(err)
	}
	for p := range partitions {
		var recs []kafkatest.Record
		for i := range n {
			recs = append(recs, kafkatest.Record{Partition: p, Key: []byte{byte(i)}, Value: []byte("v"), Timestamp: time.Now().UnixMilli()})
		}
		if n == 0 {
			continue
		}
		if err := c.ProduceAll(context.Background(), topic, recs...); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// age gives everything below dir another time.
func age(t *testing.T, dir string, at time.Time) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}
