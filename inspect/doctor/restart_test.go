package doctor

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// restart are options that look at nothing but the next start.
func restart(path string, guarantee string) Options {
	return Options{Path: path, Guarantee: guarantee, Areas: []string{AreaRestart}}
}

const (
	alos = "at_least_once"
	eos  = "exactly_once_v2"
)

// TestHealthy: the directories of real applications, stopped cleanly, give no
// finding.
func TestHealthy(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		app := state(t, name)
		r := run(t, restart(app, alos))
		if len(r.Tasks) == 0 {
			t.Errorf("%s: no task", name)
		}
		if f := found(r); len(f) > 0 {
			t.Errorf("%s:\n%s", name, text(f))
		}
	}
}

const papi = "w402-mini-papi-alos"

// papiCluster has the changelogs of the application, with n records each.
func papiCluster(t *testing.T, n int, configs ...string) (*kafkatest.Cluster, *kafka.Client) {
	c, client := cluster(t)
	for _, s := range []string{"plain-kv", "ts-kv", "versioned", "plain-win", "dup-win", "ts-win", "session"} {
		fill(t, c, papi+"-"+s+"-changelog", 1, n, configs...)
	}
	return c, client
}

// TestNextStart follows a store through everything that its offset can say.
func TestNextStart(t *testing.T) {
	_, client := papiCluster(t, 2100)
	line := func(offset string) func(t *testing.T, app string) {
		return func(t *testing.T, app string) {
			cp := filepath.Join(app, "0_0", streams.CheckpointFile)
			b, err := os.ReadFile(cp)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for l := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
				if strings.HasPrefix(l, papi+"-plain-kv-changelog ") {
					l = papi + "-plain-kv-changelog 0 " + offset
				}
				out = append(out, l)
			}
			write(t, cp, strings.Join(out, "\n")+"\n")
		}
	}
	for name, c := range map[string]struct {
		do      func(t *testing.T, app string)
		version string
		alos    string
		eos     string
		check   string
	}{
		"clean":            {func(*testing.T, string) {}, "4.0", WillResume, WillResume, ""},
		"clean, 4.4":       {func(*testing.T, string) {}, "4.4", WillResume, WillResume, ""},
		"no file":          {func(t *testing.T, app string) { remove(t, filepath.Join(app, "0_0", ".checkpoint")) }, "4.0", WillRestore, WillWipe, ""},
		"beyond":           {line("5000"), "4.0", WillRestore, WillWipe, "restart.out-of-range"},
		"the end itself":   {line("2100"), "4.0", WillRestore, WillWipe, "restart.out-of-range"},
		"last":             {line("2099"), "4.0", WillResume, WillResume, ""},
		"-4":               {line("-4"), "4.0", WillResume, WillResume, ""},
		"-4, 4.4":          {line("-4"), "4.4", WillRestore, WillWipe, ""},
		"bad file":         {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0", ".checkpoint"), "1\n0\n") }, "4.0", WillFail, WillFail, "restart.fails"},
		"segments, 4.0":    {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/session/README"), "") }, "4.0", WillResume, WillResume, "restart.segments"},
		"segments, 4.4":    {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/session/README"), "") }, "4.4", WillFail, WillFail, "restart.segments"},
		"too old a Kafka":  {func(*testing.T, string) {}, "3.9", WillFail, WillFail, "restart.fails"},
		"CURRENT is empty": {func(t *testing.T, app string) { write(t, filepath.Join(app, "0_0/rocksdb/plain-kv/CURRENT"), "") }, "4.0", WillFail, WillFail, "restart.files"},
	} {
		t.Run(name, func(t *testing.T) {
			app := state(t, "4.0.2-papi-alos")
			c.do(t, app)
			for guarantee, will := range map[string]string{alos: c.alos, eos: c.eos} {
				o := restart(app, guarantee)
				o.Client = client
				o.Kafka, _ = streams.ParseVersion(c.version)
				r := run(t, o)
				if s := start(t, r, "0_0"); s.Will != will {
					t.Errorf("%s: %+v, wanted %s", guarantee, s.Start, will)
				}
				if c.check != "" {
					want(t, r, c.check, op.Wrong)
				}
				if c.check == "" && will == WillResume && len(found(r)) > 0 {
					t.Errorf("%s:\n%s", guarantee, text(found(r)))
				}
			}
		})
	}
}

// TestNextStartTimes: how much is replayed, and how long that takes.
func TestNextStartTimes(t *testing.T) {
	_, client := papiCluster(t, 2100)
	app := state(t, "4.0.2-papi-alos")
	o := restart(app, alos)
	o.Client = client
	plain := start(t, run(t, o), "0_0")
	if plain.Records == nil || *plain.Records == 0 || plain.Seconds != nil {
		t.Fatalf("%+v", plain)
	}
	o.Rate = 100
	if s := start(t, run(t, o), "0_0"); s.Seconds == nil || math.Abs(*s.Seconds-float64(*plain.Records)/100) > 0.001 {
		t.Errorf("%+v", s)
	}
	o.Rates = map[streams.Kind]float64{streams.KV: 1000}
	if s := start(t, run(t, o), "0_0"); s.Seconds == nil || *s.Seconds >= float64(*plain.Records)/100 {
		t.Errorf("the rate of a kind does nothing: %+v", s)
	}
}

// TestGuaranteeUnknown: both outcomes are told.
func TestGuaranteeUnknown(t *testing.T) {
	app := state(t, "4.0.2-papi-alos")
	remove(t, filepath.Join(app, "0_0", ".checkpoint"))
	r := run(t, restart(app, ""))
	s := start(t, r, "0_0")
	if s.Will != WillRestore || s.ExactlyOnce == nil || s.ExactlyOnce.Will != WillWipe {
		t.Errorf("%+v, exactly-once %+v", s, s.ExactlyOnce)
	}
	want(t, r, "restart.next", op.Unmeasured, "exactly-once: wiped", "at-least-once: restores from the log start")
	c := restart(app, "")
	c.Config = &AppConfig{Set: map[string]string{"processing.guarantee": "exactly_once"}}
	if s := start(t, run(t, c), "0_0"); s.Will != WillWipe || s.ExactlyOnce != nil {
		t.Errorf("%+v", s)
	}
}

// TestDamagedFiles are the cases K05 and K06.
func TestDamagedFiles(t *testing.T) {
	app := state(t, "4.0.2-papi-alos")
	store := filepath.Join(app, "0_0/rocksdb/plain-kv")
	write(t, filepath.Join(store, "CURRENT"), "")
	r := run(t, restart(app, alos))
	want(t, r, "restart.files", op.Wrong, "CURRENT is empty", "MANIFEST-000005 is taken instead", "task 0_0, store plain-kv", "files that it names are here")
	for _, variant := range []string{"MANIFEST-000099\n"} {
		write(t, filepath.Join(store, "CURRENT"), variant)
		want(t, run(t, restart(app, alos)), "restart.files", op.Wrong, "MANIFEST-000099")
	}

	app = state(t, "4.0.2-papi-alos")
	files, err := filepath.Glob(filepath.Join(app, "0_0/rocksdb/plain-kv/*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(app, "0_0/rocksdb/plain-kv/000997.sst"), string(b))
	write(t, filepath.Join(app, "0_0/rocksdb/plain-kv/000998.sst"), string(b))
	want(t, run(t, restart(app, alos)), "restart.files", op.Attention, "2 SST files are newer")
	remove(t, files[0])
	r = run(t, restart(app, alos))
	if list := of(r, "restart.files"); len(list) != 2 || !strings.Contains(text(list), filepath.Base(files[0])) {
		t.Errorf("%s", text(list))
	}
}

// TestRocksLog is case K07.
func TestRocksLog(t *testing.T) {
	app := state(t, "4.0.2-papi-alos")
	want(t, run(t, restart(app, alos)), "restart.log", op.OK, "no errors")
	var log strings.Builder
	log.WriteString("2026/01/02-03:04:05.000000 1 RocksDB version: 9.7.3\n")
	for range 200 {
		log.WriteString("2026/01/02-03:04:05.000001 1 [db/db_impl.cc:1] all is well\n")
	}
	log.WriteString("2026/01/02-03:04:06.000001 1 [ERROR] [db/flush_job.cc:1] IO error: No space left on device\n")
	log.WriteString("2026/01/02-03:04:07.000001 1 [WARN] [db/column_family.cc:1] [default] Stalling writes because we have 20 level-0 files rate 16777216\n")
	write(t, filepath.Join(app, "0_0/rocksdb/plain-kv/LOG"), log.String())
	list := of(run(t, restart(app, alos)), "restart.log")
	if len(list) != 2 || list[0].Status != op.Wrong || list[1].Status != op.Attention {
		t.Fatalf("%s", text(list))
	}
	for _, w := range []string{"No space left on device", "20 level-0 files", "RocksDB 9.7.3"} {
		if !strings.Contains(text(list), w) {
			t.Errorf("no %q in\n%s", w, text(list))
		}
	}
}

// TestLeftovers is case K08: exit code 0, no finding.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "app/0_3/.lock"), "")
	write(t, filepath.Join(dir, "app2/kafka-streams-process-metadata"), `{"processId":"00000000-0000-0000-0000-000000000000"}`)
	r := run(t, restart(dir, eos))
	if f := found(r); len(f) > 0 {
		t.Errorf("%s", text(f))
	}
	list := of(r, "restart.leftovers")
	if len(list) != 2 || !strings.Contains(text(list), "harmless") {
		t.Errorf("%s", text(list))
	}
	if s := start(t, r, "0_3"); s.Will != WillNothing {
		t.Errorf("%+v", s)
	}
}

// TestOtherCluster is case K16: one finding, not one per partition.
func TestOtherCluster(t *testing.T) {
	_, client := papiCluster(t, 20)
	app := state(t, "4.0.2-papi-alos")
	o := restart(app, alos)
	o.Client = client
	r := run(t, o)
	want(t, r, "restart.out-of-range", op.Wrong, "do not fit this cluster", "cluster id kfake", "topic id", "wipes state that the right one could resume")
	for _, id := range []string{"restart.wiped", "restart.changelog-lost", "restart.zombies"} {
		want(t, r, id, op.OK)
	}
}

// TestChangelogLost is the second part of case K26.
func TestChangelogLost(t *testing.T) {
	c, client := papiCluster(t, 2100)
	app := state(t, "4.0.2-papi-alos")
	o := restart(app, alos)
	o.Client = client
	if err := c.Delete(context.Background(), papi+"-plain-kv-changelog"); err != nil {
		t.Fatal(err)
	}
	want(t, run(t, o), "restart.changelog-lost", op.Wrong, "does not exist", "do NOT start", "at offset")
	fill(t, c, papi+"-plain-kv-changelog", 1, 0)
	r := run(t, o)
	want(t, r, "restart.changelog-lost", op.Wrong, "is empty", "do NOT start", papi+"-plain-kv-changelog")
	if s := start(t, r, "0_0"); s.Will != WillRestore {
		t.Errorf("%+v", s)
	}
	o.Guarantee = eos
	if s := start(t, run(t, o), "0_0"); s.Will != WillWipe {
		t.Errorf("%+v", s)
	}
}

// TestZombies: stopped for longer than tombstones are kept, with records since.
func TestZombies(t *testing.T) {
	_, client := papiCluster(t, 2100, "cleanup.policy", "compact", "delete.retention.ms", "86400000")
	app := state(t, "4.0.2-papi-alos")
	o := restart(app, alos)
	o.Client = client
	age(t, app, time.Now().Add(-time.Hour))
	want(t, run(t, o), "restart.zombies", op.OK)
	age(t, app, time.Now().Add(-48*time.Hour))
	list := of(run(t, o), "restart.zombies")
	if len(list) != 7 || !strings.Contains(text(list), "zombie risk: its newest file is 2d old") {
		t.Errorf("%s", text(list))
	}
}

// TestSources is case K12.
func TestSources(t *testing.T) {
	c, client := cluster(t)
	fill(t, c, "in", 1, 80)
	if err := c.Commit(context.Background(), "app", "in", map[int32]int64{0: 90}); err != nil {
		t.Fatal(err)
	}
	o := Options{AppID: "app", Client: client, Areas: []string{AreaRestart}}
	want(t, run(t, o), "restart.sources", op.Wrong, "committed 90, end 80: OUT OF RANGE by 10 records", "auto.offset.reset is earliest")
	if err := c.Commit(context.Background(), "app", "in", map[int32]int64{0: 50}); err != nil {
		t.Fatal(err)
	}
	want(t, run(t, o), "restart.sources", op.OK)
	// kfake does not move a log's start; the numbers are the case's.
	f := &facts{o: &o, app: "app", cluster: &clusterFacts{
		committed: map[string]map[int32]int64{"in": {0: 50456}},
		ends:      map[string]topicEnds{"in": {at: map[int32]kafka.PartitionOffsets{0: {Start: 75033, End: 80000}}}},
	}, config: &AppConfig{Set: map[string]string{"auto.offset.reset": "latest"}}}
	rep := &report{check: &Check{ID: "restart.sources"}}
	sourcesInRange(f, rep)
	for _, w := range []string{"OUT OF RANGE by 24,577 records", "auto.offset.reset is latest", "state and input no longer match"} {
		if !strings.Contains(text(rep.findings), w) {
			t.Errorf("no %q in\n%s", w, text(rep.findings))
		}
	}
}

// TestTakenForComplete: an offset whose store is gone.
func TestTakenForComplete(t *testing.T) {
	app := state(t, "4.0.2-opt-alos")
	want(t, run(t, restart(app, alos)), "restart.taken-for-complete", op.OK)
	remove(t, filepath.Join(app, "0_0/rocksdb/src-tbl"))
	want(t, run(t, restart(app, alos)), "restart.taken-for-complete", op.Wrong, "task 0_0, store src-tbl", "the rows before it are missing")
}

// TestCleaner: what Kafka Streams deletes by itself.
func TestCleaner(t *testing.T) {
	app := state(t, "4.4.0-papi-h-alos")
	age(t, app, time.Now().Add(-48*time.Hour))
	o := restart(app, alos)
	want(t, run(t, o), "restart.cleaner", op.OK, "state.cleanup.delay.ms")
	o.Config = &AppConfig{Set: map[string]string{"state.cleanup.dir.max.age.ms": "86400000"}}
	if s := start(t, run(t, o), "0_0"); s.Will != WillWipe {
		t.Errorf("%+v", s)
	}
	want(t, run(t, o), "restart.wiped", op.OK)
	if list := of(run(t, o), "restart.cleaner"); len(list) != 2 || list[0].Status != op.Attention {
		t.Errorf("%s", text(list))
	}
	o.Kafka = streams.Version{Major: 4, Minor: 2}
	want(t, run(t, o), "restart.cleaner", op.OK)
}

// TestTwoHosts compares with another host's directory.
func TestTwoHosts(t *testing.T) {
	app := state(t, "4.0.2-papi-alos")
	other := state(t, "4.0.2-papi-alos")
	write(t, filepath.Join(other, streams.ProcessFile), `{"processId":"another"}`)
	o := restart(app, alos)
	want(t, run(t, o), "restart.two-hosts", op.Unmeasured, "--also")
	o.Also = []string{other}
	want(t, run(t, o), "restart.two-hosts", op.Attention, "tasks 0_0 lie here and under")
	o.Config = &AppConfig{Set: map[string]string{"num.standby.replicas": "1"}}
	want(t, run(t, o), "restart.two-hosts", op.OK, "standby")
	for _, a := range []string{app, other} {
		write(t, filepath.Join(a, streams.ProcessFile), `{"processId":"cafe"}`)
	}
	if list := of(run(t, o), "restart.two-hosts"); list[0].Status != op.Wrong || !strings.Contains(text(list), "same process id") {
		t.Errorf("%s", text(list))
	}
	o.Also = []string{app}
	want(t, run(t, o), "restart.two-hosts", op.Wrong, "are the same directory")
}
