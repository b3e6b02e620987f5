package restore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

const app = "app"

// world is an embedded cluster with a client.
type world struct {
	*kafkatest.Cluster
	client *kafka.Client
}

func newWorld(t testing.TB, o kafkatest.Options) *world {
	t.Helper()
	k, err := kafkatest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &world{k, c}
}

// memDir is a temporary directory in memory where there is enough: RocksDB
// syncs a lot, and no test here is about that. Containers often have little.
func memDir(t testing.TB) string {
	t.Helper()
	var st syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &st) != nil || uint64(st.Bavail)*uint64(st.Bsize) < 1<<30 {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "sstool-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// changelog makes the changelog topic of a store and fills it.
func (w *world) changelog(t testing.TB, store string, partitions int32, recs []kafkatest.Record, configs ...string) string {
	t.Helper()
	topic := streams.ChangelogTopic(app, store)
	if len(configs) == 0 {
		configs = []string{"cleanup.policy", "compact"}
	}
	if err := w.Topic(topic, partitions, configs...); err != nil {
		t.Fatal(err)
	}
	w.produce(t, topic, recs)
	return topic
}

// produce writes the records in batches of a few dozen, so that there are
// several blocks to read.
func (w *world) produce(t testing.TB, topic string, recs []kafkatest.Record) {
	t.Helper()
	for c := range slices.Chunk(recs, 40) {
		if err := w.ProduceAll(t.Context(), topic, c...); err != nil {
			t.Fatal(err)
		}
	}
}

// events records what a restore says.
type events struct {
	mu  sync.Mutex
	all []op.Event
}

func (e *events) sink(ev op.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) warnings() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, ev := range e.all {
		if ev.Type == op.Warning {
			fmt.Fprintf(&b, "%s: %s\n", ev.Name, ev.Message)
		}
	}
	return b.String()
}

// options are those of most tests: one at-least-once store of sub-topology 0.
func options(into string, stores ...streams.Store) Options {
	o := Options{ApplicationID: app, Guarantee: AtLeastOnce, Target: streams.Version{Major: 4, Minor: 2}, Into: into, ToOffset: -1,
		StallTimeout: time.Minute, Threads: 2}
	for _, s := range stores {
		o.Stores = append(o.Stores, request(s))
		if s.Headers {
			o.Target = streams.Version{Major: 4, Minor: 4}
		}
	}
	return o
}

func request(s streams.Store) StoreRequest {
	sub := 0
	return StoreRequest{Store: s, Subtopology: &sub, GlobalCopy: s.Global}
}

func kv(name string) streams.Store { return streams.Store{Name: name, Kind: streams.TimestampedKV} }

// restore plans and runs.
func (w *world) restore(t testing.TB, o Options) (*Result, error) {
	return w.restoreTo(t.Context(), o, nil)
}

func (w *world) restoreTo(ctx context.Context, o Options, sink op.Sink) (*Result, error) {
	p, err := MakePlan(ctx, w.client, o)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, sink)
}

func (w *world) mustRestore(t testing.TB, o Options) *Result {
	t.Helper()
	res, err := w.restore(t, o)
	if err != nil {
		t.Fatalf("%v (try %v)", err, op.Tries(err))
	}
	return res
}

// dump lists every row of every family of every database below dir, as
// "<path> <family> <key> <value>" in hex, and every checkpoint line.
func dump(t testing.TB, dir string) []string {
	t.Helper()
	out := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch d.Name() {
		case streams.CheckpointFile:
			cp, err := streams.ReadCheckpoint(path)
			for tp, off := range cp {
				out = append(out, fmt.Sprintf("%s %s %d", rel, tp, off))
			}
			return err
		case "CURRENT":
			v, err := lsm.ReadManifest(filepath.Dir(path))
			if err != nil {
				return err
			}
			for _, f := range v.Families {
				out = append(out, fmt.Sprintf("%s %s", filepath.Dir(rel), f.Name))
				err := lsm.Rows(filepath.Dir(path), f.Name, func(k, v []byte) error {
					out = append(out, fmt.Sprintf("%s %s %x %x", filepath.Dir(rel), f.Name, k, v))
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// sameRows fails with the first few differences.
func sameRows(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	var lines []string
	g, w := map[string]bool{}, map[string]bool{}
	for _, l := range got {
		g[l] = true
	}
	for _, l := range want {
		w[l] = true
		if !g[l] {
			lines = append(lines, "missing "+l)
		}
	}
	for _, l := range got {
		if !w[l] {
			lines = append(lines, "too much "+l)
		}
	}
	n := len(lines)
	t.Fatalf("%s: %d lines, want %d; %d differ:\n  %s", what, len(got), len(want), n, strings.Join(lines[:min(n, 8)], "\n  "))
}

// tree lists all paths below dir with sizes, to tell whether anything changed.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	out := []string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err == nil && !d.IsDir() {
			out = append(out, fmt.Sprintf("%s %d %d", path, i.Size(), i.ModTime().UnixNano()))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// numbered makes n records k<i mod keys> = v<i> of partition p.
func numbered(p int32, from, n, keys int) []kafkatest.Record {
	var out []kafkatest.Record
	for i := from; i < from+n; i++ {
		out = append(out, kafkatest.Record{Partition: p, Timestamp: int64(1000 + i), Key: fmt.Appendf(nil, "k%04d", i%keys), Value: fmt.Appendf(nil, "v%d", i)})
	}
	return out
}

// windowKey is a record key of a window store.
func windowKey(key string, start int64, seq uint32) []byte {
	b := binary.BigEndian.AppendUint64([]byte(key), uint64(start))
	return binary.BigEndian.AppendUint32(b, seq)
}

// sessionKey is a record key of a session store.
func sessionKey(key string, end, start int64) []byte {
	b := binary.BigEndian.AppendUint64([]byte(key), uint64(end))
	return binary.BigEndian.AppendUint64(b, uint64(start))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// eachRecord calls fn with the offset of every data record of a partition,
// aborted ones included.
func eachRecord(t testing.TB, w *world, topic string, part int32, fn func(offset int64)) {
	t.Helper()
	offs, err := w.client.Offsets(t.Context(), topic, []int32{part})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.client.OpenPartition(t.Context(), kafka.ReadOptions{Topic: topic, Partition: part, From: offs[part].Start, To: offs[part].End})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var d kafka.Decoder
	for {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			return
		}
		if err == nil {
			_, err = d.Decode(b, func(r *kafka.Record) error { fn(r.Offset); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
