package restore

import (
	"context"
	"fmt"
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// FollowResult is what a follower did, when it ended; it is the JSON document.
// Durations are seconds.
type FollowResult struct {
	ApplicationID string   `json:"application_id"`
	ClusterID     string   `json:"cluster_id"`
	Guarantee     string   `json:"processing_guarantee"` // "" when not stated
	Isolation     string   `json:"isolation"`
	IsolationBy   string   `json:"isolation_from"`
	TargetKafka   string   `json:"target_kafka"` // "" when not stated
	Into          string   `json:"into"`
	Assumptions   []string `json:"assumptions"`
	Warnings      []string `json:"warnings"`

	FollowStatus
	Seconds    float64        `json:"seconds"`
	Skipped    []SkippedStore `json:"skipped"`
	PeakMemory Measured       `json:"peak_memory_bytes"`
}

// FollowStatus is how a follower stands.
type FollowStatus struct {
	Restored    int64             `json:"restored_records"` // by bulk, before it followed
	Records     int64             `json:"applied_records"`  // since it follows
	Bytes       int64             `json:"applied_bytes"`
	Flushes     int64             `json:"flushes"`
	StartedOver int64             `json:"started_over"`
	Lag         int64             `json:"lag_records"`
	Partitions  []FollowPartition `json:"partitions"`
}

// FollowPartition is one changelog partition that is followed.
type FollowPartition struct {
	Task       string       `json:"task"`
	Store      string       `json:"store"`
	Kind       streams.Kind `json:"kind"`
	Topic      string       `json:"topic"`
	Partition  int32        `json:"partition"`
	Began      FollowAction `json:"began"` // restore, resume, start over
	State      string       `json:"state"` // following, restoring, no answer
	From       int64        `json:"from"`
	Position   int64        `json:"position"`   // the next offset to be applied
	Checkpoint *int64       `json:"checkpoint"` // the last record whose offset is on disk; null: none
	End        int64        `json:"end"`        // of the log, or of the committed part of a source topic
	Lag        int64        `json:"lag_records"`
	Records    int64        `json:"applied_records"`
	Bytes      int64        `json:"applied_bytes"`
	FlushAge   float64      `json:"last_flush_age_seconds"`
	AnswerAge  float64      `json:"last_answer_age_seconds"` // since the leader was asked what it has answered
	Over       int64        `json:"started_over"`
}

// Text is the result in a line.
func (r *FollowResult) Text() string {
	return fmt.Sprintf("%d records applied in %s, %d behind", r.Records, time.Duration(r.Seconds*float64(time.Second)).Round(time.Second), r.Lag)
}

// Status is how it stands now; false while it does not follow yet. It may be
// called from any goroutine.
func (p *FollowPlan) Status() (FollowStatus, bool) {
	p.mu.Lock()
	f, restored := p.live, p.result
	p.mu.Unlock()
	s := FollowStatus{Partitions: []FollowPartition{}}
	if restored != nil {
		s.Restored = restored.Total.Records
	}
	if f == nil {
		return s, false
	}
	now := time.Now()
	for _, u := range f.units {
		u.mu.Lock()
		s.Flushes += u.flushes
		over := u.startedOver.Load()
		s.StartedOver += over
		for _, part := range u.parts {
			x := FollowPartition{
				Task: u.task, Store: u.unit.Request.Name, Kind: u.unit.Request.Kind, Topic: u.topic, Partition: part.partition,
				Began: u.action, State: string(u.doing), From: part.from, Position: part.pos, End: part.end, Lag: max(0, part.end-part.pos),
				Records: part.counts.Records, Bytes: part.counts.Bytes, Over: over,
				FlushAge: now.Sub(u.flushed).Seconds(), AnswerAge: now.Sub(part.answered).Seconds(),
			}
			if part.written >= 0 {
				n := part.written
				x.Checkpoint = &n
			}
			if x.State == string(followFollowing) && f.trouble.has(part) {
				x.State = "no answer"
			}
			s.Records += x.Records
			s.Bytes += x.Bytes
			s.Lag += x.Lag
			s.Partitions = append(s.Partitions, x)
		}
		u.mu.Unlock()
	}
	return s, true
}

func (p *FollowPlan) followResult(f *follower) *FollowResult {
	r := p.newResult()
	out := &FollowResult{ApplicationID: r.ApplicationID, ClusterID: r.ClusterID, Guarantee: r.Guarantee, Isolation: r.Isolation, IsolationBy: r.IsolationBy,
		TargetKafka: r.TargetKafka, Into: r.Into, Assumptions: r.Assumptions, Warnings: r.Warnings, Skipped: r.Skipped,
		Seconds: time.Since(f.began).Seconds(), PeakMemory: peakMemory()}
	out.FollowStatus, _ = p.Status()
	return out
}

// tell shows how far all partitions are, once a second.
func (f *follower) tell(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	last, at := int64(0), time.Now()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		s, _ := f.plan.Status()
		now := time.Now()
		oldest := 0.0
		e := op.Event{Type: op.Progress, Name: "follow", Done: s.Records, Unit: "records", Bytes: s.Bytes, Rate: float64(s.Records-last) / now.Sub(at).Seconds()}
		for _, x := range s.Partitions {
			e.Parts = append(e.Parts, op.Part{Name: fmt.Sprintf("%s-%d", x.Topic, x.Partition), Done: x.Position, Total: x.End})
			oldest = max(oldest, x.FlushAge)
		}
		e.Message = fmt.Sprintf("%d behind, flushed %.0fs ago", s.Lag, oldest)
		f.sink.Emit(e)
		last, at = s.Records, now
	}
}
