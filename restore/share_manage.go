package restore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// idleBefore is how long a worker without work waits before it asks for what
// others have not begun.
const idleBefore = 5 * time.Second

// manage looks at the group again and again until the run is finished: it
// notes what this worker has done, and sees what the others have.
func (s *share) manage(ctx context.Context) {
	begun, answered := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.poke:
		case <-time.After(s.pause(time.Since(begun))):
		}
		err := s.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			answered = time.Now()
		case errors.Is(err, kafka.ErrDividing): // soon again
			answered = time.Now()
		case op.KindOf(err) != op.Unreachable || kafka.Denied(err) || time.Since(answered) > s.p.Options.StallTimeout:
			s.cancel(err)
			return
		}
	}
}

// pause is the time from look to look: a small part of how long it took so far,
// so that neither a short run waits for its end nor a long one is a burden.
func (s *share) pause(since time.Duration) time.Duration {
	if s.o.Poll > 0 {
		return s.o.Poll
	}
	return min(max(since/50, 50*time.Millisecond), 2*time.Second)
}

// step reads the group's notes, writes this worker's, and finds out whether
// all is done.
//
// It is done in three turns. When every task is noted as complete, each worker
// notes its own as final; when all are final, whoever sees it notes all as
// ended, in one commit, and the run is finished. A worker that died with its
// completions does not take the second turn, so the others wait until the group
// gives its tasks away. What is only final is given away too: the worker that
// noted it may have died with its disk while another one, which had not yet, did.
func (s *share) step(ctx context.Context) error {
	s.mu.Lock()
	division := s.divisions
	s.mu.Unlock()
	offsets, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	tasks := s.shared()
	seen := taskRecords(tasks, offsets)
	s.records = seen
	if division == 0 || division != s.divisions {
		s.mu.Unlock()
		return nil // the division comes, or is newer than what was read: it pokes
	}
	states, all := s.states(tasks, seen)
	decided := all
	var commit []kafka.GroupOffset
	for _, t := range tasks {
		state, mine := states[t.Name]
		r, ok := seen[t.Name]
		decided = decided && r.Final
		if mine && (!ok || r.Run != s.run || r.State != state || r.Final != (all && r.complete())) {
			decided = false
			commit = append(commit, s.note(t, state, all, offsets)...)
		}
	}
	if decided {
		commit = ended(tasks, offsets)
	} else if all && len(commit) > 0 {
		s.look() // the next turn at once
	}
	ask := s.idle(tasks, seen)
	s.mu.Unlock()
	if err := s.group.Commit(ctx, commit); err != nil {
		return err
	}
	if ask {
		s.group.Rebalance()
	}
	if decided {
		s.mu.Lock()
		if division == s.divisions { // else some of it may be this worker's now
			s.finished = true
			s.change()
		}
		s.mu.Unlock()
	}
	return nil
}

// ended are the notes of all tasks as of a finished run, but of those that say
// so already.
func ended(tasks []*shareTask, offsets map[kafka.GroupPartition]offsetRecord) []kafka.GroupOffset {
	var out []kafka.GroupOffset
	for _, t := range tasks {
		for _, at := range t.Partitions {
			if o := offsets[at]; !o.Ended {
				o.Ended = true
				o.GroupOffset.Metadata = string(encode(o.shareRecord))
				out = append(out, o.GroupOffset)
			}
		}
	}
	return out
}

// states are those of the tasks that are this worker's, and whether every task
// is complete with somebody.
func (s *share) states(tasks []*shareTask, seen map[string]shareRecord) (mine map[string]string, all bool) {
	mine, all = map[string]string{}, true
	me := []dividing{{shareMember: shareMember{place: s.self, Lost: s.o.Lost}}}
	for _, t := range tasks {
		r, ok := seen[t.Name]
		switch {
		case s.held[t.Name] && (s.assigned[t.Name] || ok && r.Run == s.run):
			mine[t.Name] = shareComplete
		case s.assigned[t.Name]:
			mine[t.Name] = shareWaiting
			if s.begun[t] != nil {
				mine[t.Name] = shareRestoring
			}
			all = false
		case !ok || !r.complete() || r.Run == s.run:
			all = false
		case r.Final && !s.held[t.Name] && gone(r, me):
			all = false // somebody else is about to get it
		}
	}
	return mine, all
}

// note is what this worker says of a task, a committed offset for each of its
// partitions: the end of what is restored, or where the replay begins.
func (s *share) note(t *shareTask, state string, all bool, offsets map[kafka.GroupPartition]offsetRecord) []kafka.GroupOffset {
	var out []kafka.GroupOffset
	for _, u := range t.plan.Units {
		for _, x := range u.Parts {
			at := kafka.GroupPartition{Topic: u.Topic, Partition: x.Partition}
			r := shareRecord{Format: shareFormat, App: s.p.Options.ApplicationID, Task: t.Name, Store: u.Request.Name, State: state,
				Final: all && state == shareComplete, Kept: u.Kept, place: s.self, Run: s.run, At: time.Now().UTC().Truncate(time.Millisecond)}
			o := kafka.GroupOffset{Topic: u.Topic, Partition: x.Partition, Offset: x.From, LeaderEpoch: -1}
			if state == shareComplete {
				c, now := t.stats[at]
				before, ok := offsets[at]
				switch {
				case now:
					o.Offset, r.Records, r.Bytes = x.To, c.Records, c.Bytes
					r.At = time.UnixMilli(t.at).UTC()
				case ok && before.place == s.self && before.complete(): // by an earlier run
					o.Offset, r.Records, r.Bytes, r.At = before.Offset, before.Records, before.Bytes, before.At
				case x.Held > 0:
					o.Offset = x.Held
				}
			}
			o.Metadata = string(encode(r))
			out = append(out, o)
		}
	}
	return out
}

// idle reports whether this worker should ask for a new division: it has
// nothing left, and others have tasks that they have not begun.
func (s *share) idle(tasks []*shareTask, seen map[string]shareRecord) bool {
	waiting := false
	for _, t := range tasks {
		if s.assigned[t.Name] && !s.held[t.Name] {
			s.asked = time.Now()
			return false
		}
		waiting = waiting || seen[t.Name].State == shareWaiting
	}
	if !waiting || time.Since(s.asked) < idleBefore {
		return false
	}
	s.asked = time.Now()
	s.asks++
	return true
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return b
}
