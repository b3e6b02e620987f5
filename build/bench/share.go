package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"sstool/internal/worldtest"
)

// shareAim is the most that two workers of one thread each may take against one
// process of two threads: what is asked is to lose at most 15 %.
const shareAim = 1.15

// share restores the same eight tasks with one process of two threads and with
// two workers of a shared restore, each of one thread, which are timed until both
// have ended.
func (b *bench) share(records int64) error {
	s := scenario{name: "share", gen: worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5, Partitions: 8}}
	g := s.options(records)
	made, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g)
	if err != nil {
		return err
	}
	if _, _, err := b.client.RawConsume(b.ctx, g.Topic); err != nil { // into the page cache
		return err
	}
	var one, two []float64
	for round := range b.rounds + 1 {
		alone, shared, err := b.shareRound(s, round)
		if err != nil {
			return err
		}
		if round > 0 { // the first one warms up
			one, two = append(one, alone), append(two, shared)
		}
	}
	r := median(ratios(two, one))
	fmt.Printf("share: %d records in 8 tasks: one process with two threads %.2f s, two workers with one each %.2f s (medians): %.2f × the time (%.2f to %.2f), at most %.2f is asked\n",
		made.Records, median(one), median(two), r, slices.Min(ratios(two, one)), slices.Max(ratios(two, one)), shareAim)
	if r > shareAim {
		return fmt.Errorf("two workers take %.2f × the time of one process", r)
	}
	return nil
}

func (b *bench) shareRound(s scenario, round int) (alone, shared float64, err error) {
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	t, err := timed(func() error {
		_, err := b.into(s, filepath.Join(dir, "alone"), "--threads", "2")
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if err := os.RemoveAll(filepath.Join(dir, "alone")); err != nil {
		return 0, 0, err
	}
	both, err := timed(func() error {
		var errs [2]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = b.into(s, filepath.Join(dir, fmt.Sprint(i)), "--threads", "1", "--memory", "128MiB", "--share", fmt.Sprintf("bench-share-%d-%d", os.Getpid(), round))
			})
		}
		wg.Wait()
		return errors.Join(errs[:]...)
	})
	return t.seconds, both.seconds, err
}
