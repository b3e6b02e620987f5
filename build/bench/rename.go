package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sstool/internal/worldtest"
)

// renameDoc is what the document of a rename tells of time.
type renameDoc struct {
	Steps []struct {
		ID      string  `json:"id"`
		Seconds float64 `json:"seconds"`
	} `json:"steps"`
}

// rename copies a changelog and compares the copy. A copy has to read and to
// write: it is held against the slower of a raw consume and a plain produce of
// as many records. The comparison reads both topics: it is held against a raw
// consume of both.
func (b *bench) rename(records int64) error {
	s := scenario{name: "rename", gen: worldtest.GenOptions{Kind: "timestamped-kv", TombstonePct: 5}}
	g := s.options(records)
	if _, err := worldtest.Generate(b.ctx, b.broker.Bootstrap, g); err != nil {
		return err
	}
	var copied, compared, raws, produced []float64
	var peak int64
	dir, err := os.MkdirTemp("", "sstool-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for round := range b.rounds + 1 { // the first brings everything into the page cache
		raw, err := timed(func() error { _, _, err := b.client.RawConsume(b.ctx, g.Topic); return err })
		if err != nil {
			return err
		}
		plain := fmt.Sprint("bench-rename-plain-", round)
		if err := worldtest.CreateTopic(b.ctx, b.broker.Bootstrap, plain, 1, nil); err != nil {
			return err
		}
		produce, err := worldtest.PlainProduce(b.ctx, b.broker.Bootstrap, plain, likeCopied(records))
		if err != nil {
			return err
		}
		name := fmt.Sprint("st-", round)
		doc, memory, err := b.renameOnce(dir, name)
		if err != nil {
			return err
		}
		if err := b.client.DeleteTopics(b.ctx, plain, "bench-rename-"+name+"-changelog"); err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		peak = max(peak, memory)
		raws, produced = append(raws, raw.seconds), append(produced, produce.Seconds())
		for _, step := range doc.Steps {
			switch {
			case strings.HasPrefix(step.ID, "copy:"):
				copied = append(copied, step.Seconds)
			case strings.HasPrefix(step.ID, "verify:"):
				compared = append(compared, step.Seconds)
			}
		}
	}
	slower := make([]float64, len(raws))
	both := make([]float64, len(raws))
	for i := range raws {
		slower[i], both[i] = max(raws[i], produced[i]), 2*raws[i]
	}
	fmt.Printf("rename: %d records: copy %.2f s, comparison %.2f s, raw consume %.2f s, plain produce %.2f s; peak memory %.0f MiB\n",
		records, median(copied), median(compared), median(raws), median(produced), mib(peak))
	fmt.Printf("  copy vs the slower of raw consume and plain produce: %.2f of the rate (asked 0.70)\n", median(ratios(slower, copied)))
	fmt.Printf("  comparison, which reads both topics, vs raw consume: %.2f of the rate (asked 0.40)\n", median(ratios(both, compared)))
	if peak > memoryLimit {
		fmt.Println("  above the budget of 256 MiB")
	}
	return nil
}

// renameOnce runs the program itself and returns its document and its peak
// memory.
func (b *bench) renameOnce(dir, name string) (doc renameDoc, peak int64, err error) {
	path, err := filepath.Abs(b.binary)
	if err != nil {
		return doc, 0, err
	}
	cmd := exec.CommandContext(b.ctx, path, "rename", "st", name, "--bootstrap-server", b.broker.Bootstrap, "--application-id", "bench-rename",
		"--ledger", filepath.Join(dir, name+".json"), "--yes", "-o", "json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		return doc, 0, err
	}
	done, most := make(chan struct{}), make(chan int64)
	go watchMemory(cmd.Process.Pid, done, most)
	err = cmd.Wait()
	close(done)
	if peak = <-most; err != nil {
		return doc, 0, fmt.Errorf("sstool rename: %w", err)
	}
	return doc, peak, json.Unmarshal(out.Bytes(), &doc)
}

// likeCopied are as many records of the same sizes as the copied changelog has.
func likeCopied(n int64) iter.Seq[worldtest.Record] {
	keys := make([][]byte, 10_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "account-%012d", i)
	}
	value, now := make([]byte, 100), time.Now()
	return func(yield func(worldtest.Record) bool) {
		for i := range n {
			if !yield(worldtest.Record{Key: keys[i%int64(len(keys))], Value: value, Timestamp: now}) {
				return
			}
		}
	}
}
