package restore

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// attempt is a task that this worker restores.
type attempt struct {
	task   *shareTask
	ctx    context.Context
	cancel context.CancelCauseFunc
	todo   []*Unit // not yet begun
	left   int     // not yet done
	done   []unitResult
}

// errAbandoned ends the work on a task that another worker has.
var errAbandoned = errors.New("the task was taken over by another worker")

// units is run.units for tasks that come and go as the group divides them.
func (s *share) units(r *run) func(context.Context, string, []*TaskPlan, func(*TaskPlan, []unitResult) error) ([]unitResult, error) {
	return func(ctx context.Context, root string, _ []*TaskPlan, place func(*TaskPlan, []unitResult) error) ([]unitResult, error) {
		ctx, s.cancel = context.WithCancelCause(ctx)
		defer s.cancel(nil)
		for _, t := range s.tasks {
			s.held[t.Name] = t.plan.Done // as found with the lock held
		}
		s.total, s.root = r.total.Store, root
		err := s.join()
		if err != nil {
			return nil, err
		}
		var managing sync.WaitGroup
		managing.Go(func() { s.manage(ctx) })
		var placing sync.Mutex
		var all []unitResult
		var scratch atomic.Int64
		var wg sync.WaitGroup
		for range r.parallel {
			wg.Go(func() {
				for {
					a, u := s.take(ctx)
					if a == nil {
						return
					}
					ur := r.unit(a.ctx, u, filepath.Join(root, taskFolder(a.task.plan)), filepath.Join(root, "tmp-"+strconv.FormatInt(scratch.Add(1), 10)))
					placing.Lock()
					if err := s.unitDone(a, ur, root, place); err != nil {
						s.cancel(err)
					} else if a.left == 0 {
						all = append(all, a.done...)
					}
					placing.Unlock()
				}
			})
		}
		wg.Wait()
		err = context.Cause(ctx)
		if err == nil {
			err = s.noteFinished()
		}
		s.cancel(nil)
		managing.Wait()
		s.group.Leave()
		s.p.Tasks = slices.DeleteFunc(s.p.Tasks, func(t *TaskPlan) bool { return !s.held[t.Name()] })
		return all, err
	}
}

func (s *share) join() error {
	var tasks []kafka.GroupTask
	for _, t := range s.shared() {
		tasks = append(tasks, t.GroupTask)
	}
	g, err := s.p.client.JoinTaskGroup(kafka.TaskGroupOptions{Group: s.o.Group, Protocol: s.protocol(), Tasks: tasks,
		Tell: s.tell, Divide: s.divide, Assigned: s.assign, Failed: func(err error) { s.cancel(err) }})
	if err == nil {
		s.group = g
	}
	return err
}

// take waits for a store to restore; nil when there will be none.
func (s *share) take(ctx context.Context) (*attempt, *Unit) {
	for {
		s.mu.Lock()
		changed := s.changed
		for _, a := range s.order {
			if len(a.todo) > 0 && a.ctx.Err() == nil {
				u := a.todo[0]
				a.todo = a.todo[1:]
				s.mu.Unlock()
				return a, u
			}
		}
		if next := s.next(); next != nil {
			err := s.begin(ctx, next)
			s.mu.Unlock()
			if err != nil {
				s.cancel(err)
				return nil, nil
			}
			s.look()
			continue
		}
		over := s.finished
		s.mu.Unlock()
		if over || ctx.Err() != nil {
			return nil, nil
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// begin begins a task, from nothing if it was abandoned before; with the lock
// held.
func (s *share) begin(ctx context.Context, t *shareTask) error {
	if err := os.RemoveAll(filepath.Join(s.root, taskFolder(t.plan))); err != nil {
		return err
	}
	a := &attempt{task: t}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	for _, u := range t.plan.Units {
		if !u.Done {
			a.todo = append(a.todo, u)
		}
	}
	a.left = len(a.todo)
	s.begun[t] = a
	s.order = append(s.order, a)
	return nil
}

// end forgets an attempt; with the lock held.
func (s *share) end(a *attempt) {
	delete(s.begun, a.task)
	s.order = slices.DeleteFunc(s.order, func(x *attempt) bool { return x == a })
}

// next is the task to begin next: the largest, but what another worker had
// completed last, because that one may come back with it.
func (s *share) next() *shareTask {
	var best *shareTask
	had := func(t *shareTask) int {
		if r, ok := s.records[t.Name]; ok && r.complete() {
			return 1
		}
		return 0
	}
	for _, t := range s.tasks {
		if !t.local && !s.assigned[t.Name] || s.held[t.Name] || s.begun[t] != nil {
			continue
		}
		if best == nil || cmp.Or(had(t)-had(best), cmp.Compare(best.weight, t.weight)) < 0 {
			best = t
		}
	}
	return best
}

// unitDone takes over a store that was replayed, and puts the task in place
// with its last one. One call at a time.
func (s *share) unitDone(a *attempt, ur unitResult, root string, place func(*TaskPlan, []unitResult) error) error {
	s.mu.Lock()
	a.left--
	abandoned := errors.Is(context.Cause(a.ctx), errAbandoned)
	if abandoned {
		a.left -= len(a.todo)
		a.todo = nil
	} else if ur.err == nil {
		a.done = append(a.done, ur)
	}
	left := a.left
	s.mu.Unlock()
	switch {
	case abandoned:
		a.done = nil
		if left > 0 {
			return nil
		}
		if err := os.RemoveAll(filepath.Join(root, taskFolder(a.task.plan))); err != nil {
			return err
		}
		s.sink.Warn(a.task.Name, errAbandoned.Error())
	case ur.err != nil:
		return ur.err
	case left > 0:
		return nil
	default:
		if err := place(a.task.plan, a.done); err != nil {
			return err
		}
	}
	a.cancel(nil)
	s.mu.Lock()
	s.end(a)
	if !abandoned {
		s.held[a.task.Name] = true
		a.task.at = time.Now().UnixMilli()
		for _, ur := range a.done {
			for part, c := range ur.parts {
				a.task.stats[kafka.GroupPartition{Topic: ur.unit.Topic, Partition: part}] = c
			}
		}
	}
	s.change()
	s.mu.Unlock()
	s.look()
	return nil
}

// change wakes whoever waits; with the lock held.
func (s *share) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// look lets the group be looked at now.
func (s *share) look() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// tell is what this worker tells the one that divides.
func (s *share) tell() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := shareMember{Format: shareFormat, place: s.self, Run: s.run, Lost: s.o.Lost, Asks: s.asks, Held: []string{}, Working: []string{}}
	s.declared = map[string]bool{}
	for _, t := range s.shared() {
		switch {
		case s.held[t.Name]:
			m.Held = append(m.Held, t.Name)
		case s.begun[t] != nil && s.begun[t].ctx.Err() == nil:
			m.Working = append(m.Working, t.Name)
			s.declared[t.Name] = true
		}
	}
	return encode(m)
}

// divide is asked of one worker: it looks at what is noted, and at what the
// others told.
func (s *share) divide(ctx context.Context, members []kafka.GroupMember) (map[string][]string, error) {
	offsets, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var list []dividing
	for _, m := range members {
		x, err := parseShareMember(m.Data)
		if err != nil {
			return nil, op.Errorf(op.Precondition, "group %q has a member that is no worker of a shared restore: %w", s.o.Group, err)
		}
		list = append(list, dividing{x, m.ID, m.Owned})
	}
	tasks := s.shared()
	return divide(tasks, taskRecords(tasks, offsets), list), nil
}

// assign takes over a division. What this worker had declared to be at work on
// and did not get is another one's; what it began since then it will declare.
func (s *share) assign(tasks []string) {
	s.mu.Lock()
	s.divisions++
	s.assigned = map[string]bool{}
	for _, t := range tasks {
		s.assigned[t] = true
	}
	for t, a := range s.begun {
		if !t.local && s.declared[t.Name] && !s.assigned[t.Name] {
			a.cancel(errAbandoned)
			if a.left == len(a.todo) {
				s.end(a) // none of its stores is at work
			}
		}
	}
	var total int64
	for _, t := range s.tasks {
		if t.local || s.assigned[t.Name] {
			for _, u := range t.plan.Units {
				for _, r := range u.Parts {
					if !u.Done {
						total += r.Records()
					}
				}
			}
		}
	}
	s.total(total)
	s.change()
	s.mu.Unlock()
	s.look()
}
