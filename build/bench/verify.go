package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sstool/internal/worldtest"
)

// verifyAim is the least rate of comparing a store with its changelog, in
// records, against the raw consume.
const verifyAim = 0.25

// verify compares stores with their changelogs: key-value in one partition and in
// four, and windows; all of it, a sample of 10,000 keys, two copies, and digests.
func (b *bench) verify(records int64) error {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var duels []*duel
	for _, s := range []scenario{
		{name: "verify-kv", gen: worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5, Keys: -1}},
		{name: "verify-kv-4", gen: worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5, Partitions: 4}},
		{name: "verify-window", gen: worldtest.GenOptions{Kind: "timestamped-window"}},
	} {
		g := s.options(records)
		made, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d records, %d rows, %d partitions\n", s.name, made.Records, made.Live, max(1, g.Partitions))
		var more []string
		if s.name == "verify-window" {
			more = []string{"--retention", "1h", "--segment-interval", "30m"}
		}
		if _, err := b.into(s, dir, more...); err != nil {
			return err
		}
		app := filepath.Join(dir, "bench-"+s.name)
		command := func(more ...string) (timing, error) {
			args := append([]string{"verify", app, "--store", "st", "-o", "csv"}, more...)
			return b.command(b.binary, append(args, "--kind", g.Kind)...)
		}
		topic := func(more ...string) (timing, error) {
			return command(append(more, "--bootstrap-server", b.broker.Bootstrap, "--retention", "1h")...)
		}
		raw := func() (timing, error) {
			return timed(func() error { _, _, err := b.client.RawConsume(b.ctx, g.Topic); return err })
		}
		duels = append(duels, &duel{what: s.name + ", everything", other: "the raw consume (rate)", aim: verifyAim, memory: memoryLimit,
			own: func() (timing, error) { return topic() }, theirs: raw})
		if s.name != "verify-kv" {
			continue
		}
		digest := func() (timing, error) { return command("--digest") }
		duels = append(duels,
			&duel{what: s.name + ", a sample of 10,000", other: "the raw consume (rate)", aim: verifyAim, memory: memoryLimit,
				own: func() (timing, error) { return topic("--sample", "10000") }, theirs: raw},
			&duel{what: s.name + ", against another copy", other: "its digest (rate)", aim: 0, memory: memoryLimit,
				own: func() (timing, error) { return command("--against", app) }, theirs: digest})
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
