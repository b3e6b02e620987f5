package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"sstool/internal/worldtest"
)

const (
	// snapshotAim is how much faster a restore from a snapshot with a tail of 1 %
	// is to be than the full restore of the same changelog, with --link. Without,
	// the storage's rate bounds it, which the time of cp tells.
	snapshotAim = 5
	// pushAim is the most of a store's bytes that a second push is to upload after
	// 1 % of new rows.
	pushAim = 0.25
	// pushLeast is the size of a store from which on that is asked.
	pushLeast = 1 << 30
)

// snapshot restores a store from a snapshot in a directory and a tail of 1 %, in
// turn with the full bulk restore of the same changelog; then it pushes the store
// for the second time, after 1 % of new rows. Both with keys that are written four
// times on average, as in the other scenarios, and with unique ones: then the
// changelog is no longer than the store, and the store has a gigabyte.
func (b *bench) snapshot(records int64) error {
	kv := worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5}
	unique := kv
	unique.Keys, unique.TombstonePct = -1, 0
	for _, s := range []scenario{{name: "snapshot", gen: kv, aim: snapshotAim}, {name: "snapshot-unique", gen: unique, aim: snapshotAim}} {
		if err := b.snapshotOf(s, records); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) snapshotOf(s scenario, records int64) error {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	state, bucket := filepath.Join(dir, "state"), "file://"+filepath.Join(dir, "bucket")
	g := s.options(records)
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return err
	}
	// Memtables and universal compaction, as an application makes a store.
	if _, err := b.into(s, state, "--profile", "streams"); err != nil {
		return err
	}
	first, err := b.push(s, state, bucket)
	if err != nil {
		return err
	}
	g.Records, g.Seed = max(1, records/100), 1
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return err
	}
	if _, _, err := b.client.RawConsume(b.ctx, g.Topic); err != nil { // into the page cache
		return err
	}
	var full, short, linked, pulled, copied []float64
	var tail report
	for round := range b.rounds + 1 {
		var took [4]float64
		if tail, took, err = b.snapshotRound(s, dir, bucket); err != nil {
			return err
		}
		if round > 0 { // the first one warms up
			full, short, linked, copied = append(full, took[0]), append(short, took[1]), append(linked, took[2]), append(copied, took[3])
			pulled = append(pulled, tail.Snapshot.PullSeconds)
		}
	}
	faster := median(ratios(full, linked))
	fmt.Printf("%s: a store of %.0f MiB of %d records: full bulk restore %.2f s, from a snapshot with a tail of %d records %.2f s (medians), %.1f × faster; the pull %.2f s, %.0f MB/s, cp and sync of the same files %.2f s; with --link %.2f s, %.1f × faster than in full\n",
		s.name, mib(first.Total.Bytes), records, median(full), tail.Snapshot.Tail, median(short), median(ratios(full, short)), median(pulled), float64(first.Total.Bytes)/1e6/median(pulled), median(copied), median(linked), faster)
	if faster < s.aim {
		fmt.Printf("  below the aim: %.1f× of %.0f×\n", faster, s.aim)
	}
	if _, _, err := b.spent(b.binary, "snapshot", "verify", bucket); err != nil {
		return fmt.Errorf("the bucket after the restores: %w", err)
	}
	return b.secondPush(s, state, bucket)
}

// snapshotRound takes the whole processes' times: of a full restore, of one from
// the snapshot, and of the same with hard links, and of copying what that pulls.
func (b *bench) snapshotRound(s scenario, dir, bucket string) (tail report, took [4]float64, err error) {
	into := filepath.Join(dir, "into")
	for i, run := range []func() error{
		func() error { _, err := b.into(s, into); return err },
		func() (err error) {
			tail, err = b.into(s, into, "--from-snapshot", bucket, "--require-snapshot")
			return err
		},
		func() error {
			_, err := b.into(s, into, "--from-snapshot", bucket, "--require-snapshot", "--link")
			return err
		},
		func() error {
			_, _, err := b.spent("cp", "-r", filepath.Join(dir, "bucket", "objects"), into)
			syscall.Sync() // a pull syncs, too
			return err
		},
	} {
		syscall.Sync() // what was written before is not counted
		t, err := timed(run)
		if err != nil {
			return tail, took, err
		}
		took[i] = t.seconds
		if err := os.RemoveAll(into); err != nil {
			return tail, took, err
		}
	}
	return tail, took, nil
}

// secondPush lets the store take the new rows, as an application would, and
// pushes it again.
func (b *bench) secondPush(s scenario, state, bucket string) error {
	if _, err := b.into(s, state, "--profile", "streams", "--from-checkpoint", "--yes"); err != nil {
		return err
	}
	p, err := b.push(s, state, bucket)
	if err != nil {
		return err
	}
	share := float64(p.Total.New) / float64(p.Total.Bytes)
	fmt.Printf("%s: the second push after 1 %% of new records uploads %.1f of %.1f MiB, %.1f %%: rows flushed since %.1f MiB, rewritten by compaction %.1f MiB, MANIFEST and the like %.1f MiB\n",
		s.name, mib(p.Total.New), mib(p.Total.Bytes), 100*share, mib(p.Flushed.New), mib(p.Compacted.New), mib(p.Small.New))
	if share > pushAim && p.Total.Bytes >= pushLeast {
		return fmt.Errorf("the second push uploads %.1f %%, at most %.0f %% are asked", 100*share, 100*pushAim)
	}
	return nil
}

// pushed is what the document of a push tells of bytes.
type pushed struct {
	Total     pushedBytes `json:"total"`
	Flushed   pushedBytes `json:"flushed"`
	Compacted pushedBytes `json:"compacted"`
	Small     pushedBytes `json:"small"`
}

type pushedBytes struct {
	Bytes int64 `json:"bytes"`
	New   int64 `json:"new_bytes"`
}

func (b *bench) push(s scenario, state, bucket string) (p pushed, err error) {
	_, out, err := b.spent(b.binary, "snapshot", "push", bucket, "--state-dir", state, "--application-id", "bench-"+s.name, "--bootstrap-server", b.broker.Bootstrap,
		"--processing-guarantee", "at_least_once", "-o", "json")
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(out, &p)
}
