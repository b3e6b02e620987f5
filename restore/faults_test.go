//go:build cgo

package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"
	"sstool/internal/streams"
)

// bigValues are records that take a fetch each.
func bigValues(n int) []kafkatest.Record {
	recs := numbered(0, 0, n, n)
	for i := range recs {
		recs[i].Value = append(recs[i].Value, make([]byte, 600<<10)...)
	}
	return recs
}

// produceSingly makes every record a batch of its own.
func (w *world) produceSingly(t testing.TB, topic string, recs []kafkatest.Record) {
	t.Helper()
	for _, r := range recs {
		if err := w.ProduceAll(t.Context(), topic, r); err != nil {
			t.Fatal(err)
		}
	}
}

// smallFetches makes both profiles fetch little at a time.
func smallFetches(o Options, p Profile) Options {
	o.Profile, o.Memory, o.Threads = p, 1<<20, 1
	o.Consumer = map[string]string{"max.partition.fetch.bytes": "1000", "max.poll.records": "10"}
	return o
}

var profiles = []Profile{Bulk, Streams}

// untouched runs fn, which must fail, and fails if the target has changed or
// something of ours is left.
func untouched(t testing.TB, into string, fn func() error) error {
	t.Helper()
	app := appDir(into, app)
	before := tree(t, app)
	err := fn()
	if err == nil {
		t.Fatal("no error")
	}
	after := slices.DeleteFunc(tree(t, app), func(l string) bool { return strings.Contains(l, "/.lock ") })
	before = slices.DeleteFunc(before, func(l string) bool { return strings.Contains(l, "/.lock ") })
	if !slices.Equal(before, after) {
		t.Errorf("the target changed from %v to %v", before, after)
	}
	for _, gone := range []string{buildDir(into, "app"), journalFile(into, "app")} {
		if exists(gone) {
			t.Errorf("%s is left", gone)
		}
	}
	return err
}

func TestBrokerGone(t *testing.T) {
	for _, p := range profiles {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := newWorld(t, kafkatest.Options{})
			topic := k.changelog(t, "s", 1, nil)
			k.produceSingly(t, topic, bigValues(8))
			o := smallFetches(options(memDir(t), kv("s")), p)
			o.StallTimeout = 6 * time.Second
			k.OnFetch(4, func() { k.Cluster.Close() })
			start := time.Now()
			var ev events
			err := untouched(t, o.Into, func() error { _, err := k.restoreTo(t.Context(), o, ev.sink); return err })
			optest.WantKind(t, err, op.Unreachable, topic+"-0", "at offset ", "--stall-timeout")
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %s", d)
			}
			if !strings.Contains(ev.warnings(), topic) {
				t.Errorf("no warning about the retries: %q", ev.warnings())
			}
			// Gone at the start: the plan says so.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = MakePlan(ctx, k.client, o)
			optest.WantKind(t, err, op.Unreachable)
		})
	}
}

func TestLeaderMoves(t *testing.T) {
	for _, p := range profiles {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := newWorld(t, kafkatest.Options{Brokers: 3})
			topic := k.changelog(t, "s", 1, nil)
			k.produceSingly(t, topic, bigValues(8))
			k.OnFetch(4, func() {
				if err := k.MoveTopicPartition(topic, 0, (k.LeaderFor(topic, 0)+1)%3); err != nil {
					t.Error(err)
				}
			})
			var ev events
			res, err := k.restoreTo(t.Context(), smallFetches(options(memDir(t), kv("s")), p), ev.sink)
			if err != nil || res.Total.Records != 8 || res.Total.Rows != 8 {
				t.Fatal(res, err)
			}
			if !strings.Contains(ev.warnings(), "leader") {
				t.Errorf("no word about it: %q", ev.warnings())
			}
		})
	}
}

func TestMissing(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "payments", 3, numbered(0, 0, 10, 10))
	k.changelog(t, "wide", 5, nil)
	one := 1
	for _, x := range []struct {
		name string
		set  func(*Options)
		want []string
	}{
		{"topic", func(o *Options) { o.Stores[0].Name = "payment" }, []string{"app-payment-changelog", "app-payments-changelog"}},
		{"partition", func(o *Options) { o.Partitions = []int32{0, 3} }, []string{"partition 3", "payments", "0 to 2"}},
		{"negative", func(o *Options) { o.Partitions = []int32{-1} }, []string{"partition -1"}},
		{"task", func(o *Options) { o.Tasks = []streams.TaskID{{Partition: 1}, {Partition: 7}} }, []string{"task 0_7", "sub-topology 0", "0 to 2"}},
		{"sub-topology", func(o *Options) { o.Tasks = []streams.TaskID{{Subtopology: 4, Partition: 1}} }, []string{"task 4_1", "sub-topology 0"}},
		{"of several", func(o *Options) { o.Stores = append(o.Stores, request(kv("wide"))); o.Partitions = []int32{4, 5} }, []string{"partition 5", "0 to 4"}},
		{"resume", func(o *Options) { o.FromCheckpoint = true }, []string{"nothing to resume", "--from-checkpoint"}},
		{"none in common", func(o *Options) {
			o.Partitions, o.Tasks = []int32{1}, []streams.TaskID{{Partition: 2}}
		}, []string{"no partition is selected", "0 to 2"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := options(memDir(t), kv("payments"))
			x.set(&o)
			_, err := k.restore(t, o)
			optest.WantKind(t, err, op.NotFound, x.want...)
			if exists(appDir(o.Into, app)) {
				t.Error("something was made")
			}
		})
	}
	// What one of several stores has is enough, and the others' partitions stay out.
	o := options(memDir(t), kv("payments"), kv("wide"))
	o.Stores[1].Subtopology = &one
	o.Partitions = []int32{4}
	if res := k.mustRestore(t, o); len(res.Partitions) != 1 || res.Partitions[0].Task != "1_4" {
		t.Fatal(res.Partitions)
	}
}

func TestDenied(t *testing.T) {
	topic := streams.ChangelogTopic(app, "s")
	k := newWorldAs(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "root", Password: "r"}},
		Extra: kafkatest.DescribeOnly("eve", "e", topic)}, "eve", "e")
	k.changelog(t, "s", 1, numbered(0, 0, 10, 10))
	for _, p := range profiles {
		o := options(memDir(t), kv("s"))
		o.Profile, o.StallTimeout = p, time.Minute
		err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
		optest.WantKind(t, err, op.Unreachable, "READ on Topic:"+topic, "kafka-acls.sh", "User:eve")
	}
	o := options(memDir(t), kv("other"))
	_, err := k.restore(t, o)
	if kind := op.KindOf(err); kind != op.Unreachable && kind != op.NotFound {
		t.Fatal(err)
	}
}

// The log start moves past the position: that partition is read again from
// there, and nothing of what is gone is in the store.
func TestLogStartMoves(t *testing.T) {
	for _, p := range profiles {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := newWorld(t, kafkatest.Options{})
			topic := k.changelog(t, "s", 1, nil)
			k.produceSingly(t, topic, bigValues(10))
			k.OnFetch(5, func() {
				if err := k.DeleteRecords(topic, 0, 7); err != nil {
					t.Error(err)
				}
			})
			o := smallFetches(options(memDir(t), kv("s")), p)
			var ev events
			res, err := k.restoreTo(t.Context(), o, ev.sink)
			if err != nil {
				t.Fatal(err)
			}
			x := res.Partitions[0]
			if x.Restarted != 1 || x.From != 7 || x.LogStart != 7 || x.Rows != 3 || x.Records != 3 {
				t.Errorf("%+v", x)
			}
			if !strings.Contains(ev.warnings(), "log start moved to 7") {
				t.Errorf("warnings %q", ev.warnings())
			}
			// Everything gone is nothing applied.
			k.DeleteRecords(topic, 0, 10)
			o.Into = memDir(t)
			k.mustRestore(t, o)
			if got := dump(t, appDir(o.Into, app)); !slices.Contains(got, "0_0/.checkpoint "+topic+"-0 -4") {
				t.Error(got)
			}
		})
	}
}

// A transaction left open under read_committed: a warning at once, an error
// after the stall timeout, never a hang.
func TestOpenTransaction(t *testing.T) {
	for _, p := range profiles {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			k := newWorld(t, kafkatest.Options{})
			topic := k.changelog(t, "s", 1, numbered(0, 0, 20, 20))
			end, err := k.Begin(t.Context(), topic, numbered(0, 20, 3, 20)...)
			if err != nil {
				t.Fatal(err)
			}
			o := options(memDir(t), kv("s"))
			o.Siblings, o.Guarantee, o.Profile, o.StallTimeout = o.Stores, ExactlyOnce, p, 8*time.Second
			plan, err := MakePlan(t.Context(), k.client, o)
			if err != nil {
				t.Fatal(err)
			}
			if w := strings.Join(plan.Warnings, "\n"); !strings.Contains(w, "producer id") || !strings.Contains(w, "3 before the end 23") || !strings.Contains(w, "offset 20") {
				t.Errorf("the plan warns %q", w)
			}
			var ev events
			start := time.Now()
			err = untouched(t, o.Into, func() error { _, err := plan.Run(t.Context(), ev.sink); return err })
			optest.WantKind(t, err, op.Precondition, topic+"-0", "at 20", "3 before the end offset 23", "producer ", "kafka-transactions.sh abort")
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %s", d)
			}
			if !strings.Contains(ev.warnings(), "transaction") {
				t.Errorf("warnings %q", ev.warnings())
			}
			// It ends while we wait.
			o.StallTimeout = 2 * time.Minute
			res, err := k.restoreTo(t.Context(), o, func(e op.Event) {
				if e.Type == op.Warning && strings.Contains(e.Message, "transaction") {
					end(false)
				}
			})
			if err != nil || res.Total.Records != 20 || res.Total.Aborted != 3 {
				t.Fatal(res, err)
			}
		})
	}
}

func TestCorruptBatch(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, nil)
	var log []byte
	var at int
	for i := range 3 {
		b := kafkatest.Batch{Base: int64(10 * i)}
		recs := numbered(0, 10*i, 10, 100)
		k.produce(t, topic, recs)
		for j := range recs {
			b.Add(&recs[j])
		}
		raw, err := b.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		at = len(log) + len(raw) - 5 // in the values of the last batch
		log = append(log, raw...)
	}
	log[at] ^= 1
	k.ServeLog(log, 30)
	for _, p := range profiles {
		for _, threads := range []int{1, 4} {
			o := options(memDir(t), kv("s"))
			o.Profile, o.Threads = p, threads
			err := untouched(t, o.Into, func() error { _, err := k.restore(t, o); return err })
			optest.WantKind(t, err, op.Corrupt, topic+"-0", "20")
		}
	}
}

func TestRecordLargerThanTheFetch(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, numbered(0, 0, 50, 50), "cleanup.policy", "compact", "max.message.bytes", "20000000")
	big := numbered(0, 50, 1, 51)
	big[0].Value = make([]byte, 10<<20)
	k.produceSingly(t, topic, append(big, numbered(0, 0, 5, 50)...))
	o := options("", kv("s"))
	o.Memory = 1 << 20
	o.Consumer = map[string]string{"max.partition.fetch.bytes": "100", "fetch.max.bytes": "100"}
	if res, _ := k.bothProfiles(t, o); res.Total.Rows != 51 {
		t.Fatal(res.Total)
	}
}

// A file system that fills up: a clear error, nothing half-built in place, and
// all that was built is gone again.
func TestDiskFull(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 1, nil)
	recs := bigValues(30)
	for i := range recs {
		for j := range recs[i].Value {
			recs[i].Value[j] = byte(j * i)
		}
	}
	k.produceSingly(t, topic, recs)
	for _, p := range profiles {
		disk := smallDisk(t, 12<<20)
		o := options(filepath.Join(disk, "state"), kv("s"))
		o.Profile = p
		plan, err := MakePlan(t.Context(), k.client, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Run(t.Context(), nil)
		optest.WantKind(t, err, op.Precondition, disk, "MB free", "may need") // seen beforehand
		for _, task := range plan.Tasks {
			for _, u := range task.Units {
				u.Parts[0].Bytes = -1 // a broker that does not tell
			}
		}
		err = untouched(t, o.Into, func() error { _, err := plan.Run(t.Context(), nil); return err })
		if text := err.Error(); !strings.Contains(text, "no space left") && !strings.Contains(text, "No space left") {
			t.Errorf("%s: %v", p, err)
		}
		o.Into, o.Scratch, o.Measure = "", filepath.Join(disk, "scratch"), true
		_, err = k.restore(t, o)
		optest.WantKind(t, err, op.Precondition, disk, "--scratch")
		if es, _ := os.ReadDir(o.Scratch); len(es) != 0 {
			t.Error("scratch is left")
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, p := range profiles {
		for _, into := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s into=%t", p, into), func(t *testing.T) {
				t.Parallel()
				k := newWorld(t, kafkatest.Options{})
				topic := k.changelog(t, "s", 1, nil)
				k.produceSingly(t, topic, bigValues(10))
				o := smallFetches(options(memDir(t), kv("s")), p)
				scratch := memDir(t)
				if !into {
					o.Into, o.Scratch, o.Measure = "", scratch, true
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				k.AtFetch(5, cancel)
				err := untouched(t, o.Into, func() error { _, err := k.restoreTo(ctx, o, nil); return err })
				if op.KindOf(err) != op.Declined || !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if es, _ := os.ReadDir(scratch); len(es) != 0 {
					t.Error("the scratch directory is left")
				}
				k.OnFetch(1, func() {})
				k.mustRestore(t, o)
			})
		}
	}
}

// Scratch directories go, also of several runs and after errors.
func TestScratchIsRemoved(t *testing.T) {
	k := newWorld(t, kafkatest.Options{})
	k.changelog(t, "s", 3, slices.Concat(numbered(0, 0, 50, 20), numbered(2, 0, 50, 20)))
	for _, p := range profiles {
		o := options("", kv("s"))
		o.Measure, o.Scratch, o.Profile, o.Repeat = true, filepath.Join(memDir(t), "a", "b"), p, 3
		res := k.mustRestore(t, o)
		if len(res.Runs) != 3 || res.Total.Records != 100 || res.Total.LiveKeys != 40 || res.StoreBytes == 0 {
			t.Errorf("%+v", res)
		}
		if es, err := os.ReadDir(o.Scratch); len(es) != 0 || err != nil {
			t.Error(es, err)
		}
	}
}

// One partition's failure does not undo the tasks that are in place.
func TestFinishedTasksStay(t *testing.T) {
	t.Parallel()
	k := newWorld(t, kafkatest.Options{})
	topic := k.changelog(t, "s", 3, slices.Concat(numbered(0, 0, 30, 10), numbered(1, 0, 30, 10)))
	end, err := k.Begin(t.Context(), topic, numbered(2, 0, 5, 5)...) // task 0_2 will stall
	if err != nil {
		t.Fatal(err)
	}
	o := options(memDir(t), kv("s"))
	o.Siblings, o.Guarantee, o.Threads, o.StallTimeout = o.Stores, ExactlyOnce, 1, 8*time.Second
	var ev events
	_, err = k.restoreTo(t.Context(), o, ev.sink)
	optest.WantKind(t, err, op.Precondition, topic+"-2")
	if !strings.Contains(ev.warnings(), "finished tasks stay") {
		t.Errorf("%q", ev.warnings())
	}
	if err := end(true); err != nil {
		t.Fatal(err)
	}
	first := dump(t, appDir(o.Into, app))
	built := tree(t, filepath.Join(appDir(o.Into, app), "0_1"))
	var fetched atomic.Int32
	k.OnFetch(1, func() { fetched.Add(1) })
	res := k.mustRestore(t, o)
	states := map[string]string{}
	for _, x := range res.Partitions {
		states[x.Task] = x.State
	}
	if states["0_0"] != "done before" || states["0_1"] != "done before" || states["0_2"] != "restored" || res.Total.Records != 5 {
		t.Errorf("%v, %+v", states, res.Total)
	}
	if got := tree(t, filepath.Join(appDir(o.Into, app), "0_1")); !slices.Equal(got, built) {
		t.Errorf("a finished task was touched: %v, %v", got, built)
	}
	got := dump(t, appDir(o.Into, app))
	for _, l := range first {
		if !slices.Contains(got, l) {
			t.Errorf("lost %s", l)
		}
	}
	// A third run has nothing to do.
	if res := k.mustRestore(t, o); res.Total.Records != 0 || len(res.Partitions) != 3 {
		t.Errorf("%+v", res.Total)
	}
	// Another kind, guarantee, version or cluster is another restore.
	for name, set := range map[string]func(*Options){
		"kind":      func(o *Options) { o.Stores[0].Kind = streams.KV },
		"guarantee": func(o *Options) { o.Guarantee = AtLeastOnce },
		"target":    func(o *Options) { o.Target = streams.Version{Major: 4, Minor: 4} },
		"partial":   func(o *Options) { o.ToOffset = 3 },
	} {
		x := o
		x.Stores = slices.Clone(o.Stores)
		set(&x)
		x.Siblings = x.Stores
		if _, err := k.restore(t, x); op.KindOf(err) != op.Precondition {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Force does what was asked again.
	o.Force = true
	if res := k.mustRestore(t, o); res.Total.Records != 65 {
		t.Errorf("%+v", res.Total)
	}
	asides, _ := filepath.Glob(filepath.Join(o.Into, ".sstool", "aside", app, "*", "*", "s", "CURRENT"))
	if len(asides) != 3 {
		t.Error(asides)
	}
	sameRows(t, "after force", dump(t, appDir(o.Into, app)), got)
	// The application has been there.
	o.Force = false
	put(t, filepath.Join(appDir(o.Into, app), "0_1", "rocksdb", "s", "MANIFEST-000099"), "x")
	_, err = k.restore(t, o)
	optest.WantKind(t, err, op.Precondition, `store "s" of task 0_1 is not empty`, "--force")
}

// newWorldAs has a client that logs in.
func newWorldAs(t testing.TB, o kafkatest.Options, user, password string) *world {
	t.Helper()
	k, err := kafkatest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	c, err := kafka.Open(t.Context(), kafka.Config{Bootstrap: k.Addrs(), Properties: map[string]string{"security.protocol": "SASL_PLAINTEXT",
		"sasl.mechanism": "PLAIN", "sasl.jaas.config": `x.PlainLoginModule required username="` + user + `" password="` + password + `";`}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &world{k, c}
}
