package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sstool/internal/rocks"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// ttlAim is the least rate of finding expired rows, against the raw consume.
const ttlAim = 0.4

// ttlRows finds the expired half of ten million keys: from the changelog, in
// one partition and in four, against the raw consume, and from a local store
// against RocksDB's iterator.
func (b *bench) ttlRows(records int64) error {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var duels []*duel
	for _, parts := range []int{1, 4} {
		s := scenario{name: fmt.Sprintf("ttl-%d", parts), gen: worldtest.GenOptions{Kind: "timestamped-kv", Keys: -1, Partitions: parts}}
		// Of four times as many keys as records, drawn at random, so many are met.
		g := s.options(records * 1130 / 1000)
		made, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g)
		if err != nil {
			return err
		}
		fmt.Printf("ttl: %d records, %d keys, %d partitions\n", made.Records, made.Live, parts)
		spec := filepath.Join(dir, s.name+".yaml")
		text := fmt.Sprintf("application-id: bench-%s\nstores:\n- name: st\n  kind: timestamped-kv\n", s.name)
		if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
			return err
		}
		before := strconv.FormatInt(worldtest.GenBase+g.Records/2, 10)
		plan := func(more ...string) (timing, error) {
			return b.command(b.binary, append([]string{"ttl", "--bootstrap-server", b.broker.Bootstrap, "--application-id", "bench-" + s.name, "--store", "st", "--before", before, "--dry-run", "-o", "json"}, more...)...)
		}
		duels = append(duels, &duel{what: fmt.Sprintf("expired rows from the changelog, %d partitions", parts), other: "the raw consume (rate)", aim: ttlAim, memory: memoryLimit,
			own: func() (timing, error) { return plan("--spec", spec) },
			theirs: func() (timing, error) {
				return timed(func() error { _, _, err := b.client.RawConsume(b.ctx, g.Topic); return err })
			}})
		if parts > 1 {
			continue
		}
		if _, err := b.into(s, dir); err != nil {
			return err
		}
		store := filepath.Join(dir, "bench-"+s.name, "0_0", "rocksdb", "st")
		duels = append(duels, &duel{what: "expired rows from the local store", other: "a RocksDB iterator driven from Go", aim: 3, memory: memoryLimit,
			own: func() (timing, error) { return plan("--state-dir", dir) },
			theirs: func() (timing, error) {
				db, err := rocks.Open(store, rocks.Options{})
				if err != nil {
					return timing{}, err
				}
				defer db.Close()
				return timed(func() error { return db.Iterate(max(slices.Index(db.Families(), streams.TimestampFamily), 0), keep) })
			}})
	}
	for round := range b.rounds + 1 {
		for _, d := range duels {
			if err := d.fight(round > 0); err != nil {
				return fmt.Errorf("%s: %w", d.what, err)
			}
		}
	}
	for _, d := range duels {
		d.print()
	}
	return nil
}
