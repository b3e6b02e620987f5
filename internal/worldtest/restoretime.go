package worldtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// RestoreTimeOptions describe a benchmark restore by Kafka Streams: the store
// "st" of an application, from the changelog that Changelog names.
type RestoreTimeOptions struct {
	Bootstrap  string
	App        string
	Partitions int           // default 1
	Kind       string        // as GenOptions.Kind
	Retention  time.Duration // default 1 h
	EOS        bool
	StateDir   string            // default a temporary one; the application's directory in it is wiped first
	Settings   map[string]string // over the defaults of Kafka Streams
	Heap       string            // default 1g
	Limit      time.Duration     // default 10 min
}

// Changelog is the topic that RestoreTime restores from.
func (o RestoreTimeOptions) Changelog() string { return o.App + "-st-changelog" }

// RestoreTimeReport is one restore by Kafka Streams, from the start of the
// first partition to the end of the last one.
type RestoreTimeReport struct {
	Kafka             string
	Records           int64
	Batches           int64
	RestoreSeconds    float64
	CloseSeconds      float64
	RestoreCPUSeconds float64
	ProcessCPUSeconds float64
	PeakRSSBytes      int64
	DiskBytes         int64
	SSTFiles          int64
}

// RestoreTime measures the application's own restore, in a fresh JVM with
// default flags and the default configuration.
func (h *Harness) RestoreTime(ctx context.Context, o RestoreTimeOptions) (RestoreTimeReport, error) {
	var report RestoreTimeReport
	if o.Partitions == 0 {
		o.Partitions = 1
	}
	if o.Kind == "" {
		o.Kind = "timestamped-kv"
	}
	if o.Retention == 0 {
		o.Retention = time.Hour
	}
	if o.Heap == "" {
		o.Heap = "1g"
	}
	if o.Limit == 0 {
		o.Limit = 10 * time.Minute
	}
	if o.StateDir == "" {
		dir, err := os.MkdirTemp("", "sstool-restore-time-")
		if err != nil {
			return report, err
		}
		defer os.RemoveAll(dir)
		o.StateDir = dir
	}
	// The source decides how many tasks there are; nothing is ever in it.
	if err := CreateTopic(ctx, o.Bootstrap, o.App+"-in", int32(o.Partitions), nil); err != nil {
		return report, err
	}
	cmd := h.java("-Xmx" + o.Heap)
	cmd.Args = append(cmd.Args, "restore-time", "--bootstrap", o.Bootstrap, "--app", o.App, "--state", o.StateDir,
		"--partitions", fmt.Sprint(o.Partitions), "--kind", o.Kind, "--mode", App{EOS: o.EOS}.mode(),
		"--retention-ms", fmt.Sprint(o.Retention.Milliseconds()), "--limit-seconds", fmt.Sprint(int(o.Limit.Seconds())))
	for _, key := range slices.Sorted(maps.Keys(o.Settings)) {
		cmd.Args = append(cmd.Args, "--set", key+"="+o.Settings[key])
	}
	out, err := runCommand(ctx, cmd)
	if err != nil {
		return report, fmt.Errorf("restore-time of %s: %w\n%s", o.App, err, tail(out, 4<<10))
	}
	return report, parseReply(out, &report)
}
