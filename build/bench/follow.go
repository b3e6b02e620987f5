package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

const (
	followRate       = 100_000 // records a second, the figure
	followPartitions = 4
	followKeys       = 2_000_000
	// followBehind is how far it may be behind at any time, in seconds of writing.
	followBehind = 5
)

// follow writes a changelog at a steady rate while sstool follows it, and says
// how much processor that takes and how far behind it gets: it fails when it
// does not keep up, or takes more than two cores.
func (b *bench) follow(records int64) error {
	app := fmt.Sprintf("bench-follow-%d", time.Now().UnixNano())
	topic := app + "-st-changelog"
	err := b.client.CreateTopic(b.ctx, kafka.NewTopic{Name: topic, Partitions: followPartitions, ReplicationFactor: 1,
		Configs: map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000000"}})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-follow-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out, err := os.Create(filepath.Join(dir, "out.json"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.CommandContext(b.ctx, b.binary, "restore", "--follow", "--into", filepath.Join(dir, "state"), "--bootstrap-server", b.broker.Bootstrap,
		"--application-id", app, "--store", "st", "--kind", "timestamped-kv", "--subtopology", "0", "--progress", "json", "-o", "json")
	cmd.Stdout = out
	events, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	follows := make(chan bool, 1)
	behind := make(chan int64, 1)
	go func() {
		most := int64(0)
		lines := bufio.NewScanner(events)
		for lines.Scan() {
			var e op.Event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue
			}
			if e.Type == op.Phase && e.Name == "follow" {
				follows <- true
			}
			sum := int64(0)
			for _, p := range e.Parts {
				sum += p.Total - p.Done
			}
			most = max(most, sum)
		}
		close(follows)
		behind <- most
	}()
	if !<-follows {
		return errors.New("sstool does not get to follow")
	}
	n := min(records, 30*followRate)
	start := time.Now()
	if err := b.steadily(topic, n); err != nil {
		return err
	}
	wrote := time.Since(start)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ended := time.Now()
	most := <-behind // before Wait, which closes the pipe
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("sstool: %w", err)
	}
	closed := time.Since(ended)
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	var doc struct {
		Records int64 `json:"applied_records"`
		Lag     int64 `json:"lag_records"`
		Peak    struct {
			Value int64 `json:"value"`
		} `json:"peak_memory_bytes"`
	}
	data, err := os.ReadFile(out.Name())
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		return err
	}
	rate := float64(n) / wrote.Seconds()
	cores := cpu / wrote.Seconds()
	fmt.Printf("follow: %.0f records/s written for %.0f s to %d partitions; %.2f cores used (CPU time ÷ wall time), at most %.2f s behind, %d records behind at SIGTERM, closed in %.2f s, peak memory %d MiB\n",
		rate, wrote.Seconds(), followPartitions, cores, float64(most)/rate, n-doc.Records, closed.Seconds(), doc.Peak.Value>>20)
	if cores > 2 || float64(most)/rate > followBehind {
		return errors.New("it does not keep up on two cores")
	}
	return nil
}

// steadily writes n records at followRate.
func (b *bench) steadily(topic string, n int64) error {
	p, err := b.client.OpenProducer(b.ctx, kafka.ProducerOptions{Topic: topic})
	if err != nil {
		return err
	}
	defer p.Close()
	value := make([]byte, 100)
	rnd := rand.New(rand.NewPCG(1, 1))
	start := time.Now()
	for i := range n {
		if i%1000 == 0 {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / followRate)))
		}
		key := rnd.IntN(followKeys)
		err := p.Send(b.ctx, kafka.ProduceRecord{Partition: int32(key % followPartitions), Timestamp: time.Now().UnixMilli(), Key: fmt.Appendf(nil, "customer-%012d", key), Value: value})
		if err != nil {
			return err
		}
	}
	return p.Flush(b.ctx)
}
