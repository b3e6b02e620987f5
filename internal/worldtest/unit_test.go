package worldtest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15":      17,
		"java version \"1.8.0_292\"":                  8,
		"openjdk version \"21\" 2023-09-19":           21,
		"Unable to locate a Java Runtime, visit java": 0,
	} {
		if got := javaVersion(out); got != want {
			t.Errorf("javaVersion(%q) = %d, want %d", out, got, want)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"3.9.2", "4.3", true}, {"4.10.0", "4.3", false}, {"4.3.0", "4.3", false}, {"4.4.0", "4.4.0", false}} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%s, %s) = %t", c.a, c.b, got)
		}
	}
}

func TestParseRowsAndDiff(t *testing.T) {
	parse := func(text string) Rows {
		t.Helper()
		rows, err := parseRows(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	want := parse("0_0/rocksdb/a\tdefault\n0_0/rocksdb/a\tx\n0_0/rocksdb/a\tx\t61\t01\n0_0/rocksdb/a\tx\t62\t\n" +
		"0_0/rocksdb/a\toffsets\t70\t71\n0_0/w/w.0\tdefault\n")
	if n := want.Count(); n != 2 {
		t.Errorf("Count = %d, want 2", n)
	}
	if lines := Diff(want, want.Of("a"), 10); len(lines) != 0 {
		t.Errorf("an empty database counts: %q", lines)
	}
	got := parse("0_0/rocksdb/a\tdefault\n0_0/rocksdb/a\tx\n0_0/rocksdb/a\tx\t61\t02\n0_0/rocksdb/a\tx\t63\t\n")
	lines := Diff(want, got, 10)
	if len(lines) != 3 {
		t.Errorf("Diff = %q, want a changed, a missing and an extra row", lines)
	}
	delete(got["0_0/rocksdb/a"], "default")
	if lines := Diff(want, got, 10); !strings.Contains(strings.Join(lines, "\n"), "[default]: family wanted true") {
		t.Errorf("a missing family is not seen: %q", lines)
	}
	for _, bad := range []string{"a\n", "a\tb\t00\n", "a\tb\tzz\t00\n", "a\tb\t00\t0\n", "a\t!\tbroken\n"} {
		if _, err := parseRows(strings.NewReader(bad)); err == nil {
			t.Errorf("parseRows(%q) accepted", bad)
		}
	}
}

// The batches are read back through franz-go, which checks length and CRC.
func TestGenerate(t *testing.T) {
	cluster := kfake.MustCluster(kfake.NumBrokers(1))
	defer cluster.Close()
	bootstrap := cluster.ListenAddrs()[0]
	ctx := context.Background()
	for _, o := range []GenOptions{
		{Topic: "plain", Records: 5000, Keys: 700, TombstonePct: 20, Partitions: 3, BatchBytes: 20_000},
		{Topic: "gzip", Records: 300, Codec: "gzip"},
		{Topic: "snappy", Records: 300, Codec: "snappy"},
		{Topic: "lz4", Records: 300, Codec: "lz4", Kind: "window"},
		{Topic: "zstd", Records: 300, Codec: "zstd", Kind: "session"},
		{Topic: "sorted", Records: 300, KeyShape: "sorted"},
		{Topic: "prefixed", Records: 300, KeyShape: "prefixed", ValueBytes: 4},
		{Topic: "skewed", Records: 3000, KeyShape: "skewed", Keys: 2000},
		{Topic: "tiny", Records: 300, KeyShape: "tiny", Keys: 200, TombstonePct: 50},
	} {
		t.Run(o.Topic, func(t *testing.T) {
			result, err := Generate(ctx, bootstrap, o)
			if err != nil {
				t.Fatal(err)
			}
			topic, err := ReadTopic(ctx, bootstrap, o.Topic)
			if err != nil {
				t.Fatal(err)
			}
			var records, tombstones, bytes int64
			live := map[string]bool{}
			for _, partition := range topic {
				for _, r := range partition {
					records++
					bytes += int64(len(r.Key) + len(r.Value))
					if r.Value == nil {
						tombstones++
						delete(live, string(r.Key))
					} else {
						live[string(r.Key)] = true
					}
				}
			}
			if records != o.Records || result.Records != records || result.Tombstones != tombstones || result.Bytes != bytes {
				t.Errorf("read %d records, %d tombstones, %d bytes; generated %+v", records, tombstones, bytes, result)
			}
			if windowed := o.Kind == "window" || o.Kind == "session"; !windowed && result.Live != int64(len(live)) {
				t.Errorf("read %d live keys, generated %d", len(live), result.Live)
			}
		})
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	cluster := kfake.MustCluster(kfake.NumBrokers(1))
	defer cluster.Close()
	ctx := context.Background()
	var reads [2][]string
	for i := range reads {
		o := GenOptions{Topic: []string{"a", "b"}[i], Records: 2000, Partitions: 2, TombstonePct: 10, BatchBytes: 5000}
		if _, err := Generate(ctx, cluster.ListenAddrs()[0], o); err != nil {
			t.Fatal(err)
		}
		topic, err := ReadTopic(ctx, cluster.ListenAddrs()[0], o.Topic)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Concat(topic[0], topic[1]) {
			reads[i] = append(reads[i], string(r.Key)+string(r.Value)+r.Timestamp.String())
		}
	}
	if !slices.Equal(reads[0], reads[1]) {
		t.Error("the same options gave different records")
	}
}
