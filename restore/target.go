package restore

import (
	"errors"
	"path/filepath"
	"slices"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// appDir is the application's directory below state.dir.
func appDir(stateDir, appID string) string { return filepath.Join(stateDir, appID) }

// checkTarget refuses targets that hold something, and finds what an earlier
// run finished.
func (p *Plan) checkTarget() error {
	o := &p.Options
	app := appDir(o.Into, o.ApplicationID)
	if err := p.checkStateDir(); err != nil {
		return err
	}
	led := readLedger(o.Into, o.ApplicationID)
	p.forcedSince = readForced(o.Into, o.ApplicationID)
	for _, t := range p.Tasks {
		if !t.Known {
			return op.Errorf(op.Usage, "store %q: the task directory's name needs the sub-topology, which is not in the changelog's name", t.Units[0].Request.Name).
				WithTry("--subtopology N (the number in the topology's description), or --spec FILE; `sstool spec` can read it from a topology or a state directory")
		}
		dir := filepath.Join(app, t.Name())
		// A checkpoint that cannot be read cannot be merged into: say so before
		// the work.
		if _, err := readCheckpointIf(filepath.Join(dir, streams.CheckpointFile)); err != nil {
			return err
		}
		for _, u := range t.Units {
			if err := p.checkStore(led, t, dir, u); err != nil {
				return err
			}
		}
		keepWhole(o, t)
	}
	for _, t := range p.Tasks {
		t.Done = true
		for _, u := range t.Units {
			t.Done = t.Done && u.Done
		}
		if err := p.checkWhole(t, filepath.Join(app, t.Name())); err != nil {
			return err
		}
	}
	return nil
}

// checkStateDir refuses an application's own directory, which is easily given
// for state.dir: everything would be built a level too deep, and never found.
func (p *Plan) checkStateDir() error {
	into := p.Options.Into
	names, err := files.Subdirs(into)
	if err != nil {
		return err
	}
	isTask := func(name string) bool { _, err := streams.ParseTaskID(name); return err == nil }
	if files.Exists(filepath.Join(into, streams.ProcessFile)) || slices.ContainsFunc(names, isTask) {
		return op.Errorf(op.Usage, "%s is an application's directory, not state.dir: it holds tasks", into).
			WithTry("--into %s, the directory above it", filepath.Dir(filepath.Clean(into)))
	}
	return nil
}

// keepWhole leaves a task alone of which one store is kept, under exactly-once:
// offsets beside the kept store's are the task's own business there.
func keepWhole(o *Options, t *TaskPlan) {
	if o.Guarantee != ExactlyOnce || o.follow || !slices.ContainsFunc(t.Units, func(u *Unit) bool { return u.Kept }) {
		return
	}
	for _, u := range t.Units {
		u.Done, u.Kept = true, true
	}
}

// checkStore looks at one store's place: free, finished by an earlier run, or
// to be replaced if that is wanted.
func (p *Plan) checkStore(led ledger, t *TaskPlan, dir string, u *Unit) error {
	o := &p.Options
	u.Done, u.Replace, u.Kept = false, false, false
	s := u.Request.Store
	store := streams.StoreDir(dir, s)
	full, err := files.NonEmpty(store)
	if err != nil {
		return err
	}
	if u.was, err = files.Fingerprint(store); err != nil {
		return err
	}
	if p.begun[u] {
		u.Done = true
		return nil
	}
	if o.follow {
		u.Done, u.Kept = full, full
		return nil // PlanFollow looks at what is there
	}
	if o.FromCheckpoint {
		return nil // a store is expected there: planResume looks at it
	}
	for _, k := range []streams.Kind{streams.KV, streams.Window} {
		other := streams.StoreDir(dir, streams.Store{Name: s.Name, Kind: k})
		if there, err := files.NonEmpty(other); other != store && (there || err != nil) {
			if err != nil {
				return err
			}
			return op.Errorf(op.Precondition, "store %q of task %s: %s holds a store of that name and of another kind than %s", s.Name, t.Name(), other, s.Kind).
				WithTry("check --kind; `sstool spec` reads the kind from the state directory")
		}
	}
	if p.finished(led, t, dir, u) {
		u.Done = true
		return nil
	}
	if !full {
		return nil
	}
	if o.SkipExisting {
		u.Done, u.Kept = true, true
		return nil
	}
	if !o.Force {
		return op.Errorf(op.Precondition, "store %q of task %s is not empty: %s", s.Name, t.Name(), store).
			WithTry("--force moves it aside into %s; --skip-existing leaves it and restores the rest; --from-checkpoint resumes it", ownDir(o.Into))
	}
	u.Replace = true
	return nil
}

// findBegun looks for a placement that a killed run began and this one will
// complete before anything else: its stores need no work.
func (p *Plan) findBegun() error {
	o := &p.Options
	pl, err := readJournal(o.Into, o.ApplicationID)
	if err != nil || pl == nil || pl.Partial {
		return err
	}
	if _, err := pl.pending(o.Into); errors.Is(err, errOvertaken) {
		return nil
	} else if err != nil {
		return err
	}
	p.begun = map[*Unit]bool{}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if id, ok := pl.Stores[u.Request.Name]; ok && t.Name() == pl.Task && !o.partial() && id.sameRestore(p.storeID(u)) {
				p.begun[u] = true
			}
		}
	}
	return nil
}

// recheck holds the plan against the target once the lock is held: an
// application may have run there since. done is whether a placement was
// completed just now.
func (p *Plan) recheck(done bool) error {
	stale := func(t *TaskPlan, u *Unit) error {
		return op.Errorf(op.Precondition, "store %q of task %s has changed since the plan was made", u.Request.Name, t.Name()).
			WithTry("run the command again to plan anew")
	}
	p.was = map[*Unit]string{}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if p.begun[u] && !done {
				return stale(t, u)
			}
			p.was[u] = u.was
		}
	}
	if err := p.checkTarget(); err != nil {
		return err
	}
	for _, t := range p.Tasks {
		for _, u := range t.Units {
			if u.was != p.was[u] && !u.Done {
				return stale(t, u)
			}
		}
	}
	return nil
}

// checkWhole holds truth 12: under exactly-once every logged persistent store
// of a task needs its offset, or Kafka Streams wipes the task. A missing store
// is named, not skipped.
func (p *Plan) checkWhole(t *TaskPlan, dir string) error {
	o := &p.Options
	if o.Guarantee != ExactlyOnce || t.Global || t.Done || o.partial() || o.FromCheckpoint || o.rebuild {
		return nil
	}
	full, err := files.NonEmpty(dir)
	if err != nil {
		return err
	}
	if !full && o.Siblings == nil {
		return op.Errorf(op.Usage, "under exactly-once task %s must be written whole: a store without an offset makes Kafka Streams wipe the task, and only %q is named", t.Name(), t.Units[0].Request.Name).
			WithTry("--spec FILE with every store of the application; `sstool spec` writes one")
	}
	have := map[string]bool{}
	for _, u := range t.Units {
		have[u.Request.Name] = true
	}
	var replaced []string
	for _, u := range t.Units {
		if u.Replace {
			replaced = append(replaced, streams.StoreDir(dir, u.Request.Store))
		}
	}
	known, err := storedOffsets(dir, o.Target, replaced...)
	if err != nil {
		return err
	}
	for _, s := range o.Siblings {
		if s.Global || have[s.Name] || !s.Kind.OnDisk() || s.Subtopology == nil || *s.Subtopology != t.Task.Subtopology {
			continue
		}
		topic := s.Topic
		if topic == "" {
			topic = streams.ChangelogTopic(o.ApplicationID, s.Name)
		}
		if _, ok := known[streams.TopicPartition{Topic: topic, Partition: int32(t.Task.Partition)}]; !ok {
			return op.Errorf(op.Usage, "under exactly-once task %s must be written whole: store %q is missing", t.Name(), s.Name).
				WithTry("leave out --store to restore every store of the spec")
		}
	}
	for _, u := range t.Units {
		for _, r := range u.Parts {
			if r.Records() == 0 && o.Target.IsZero() && !u.Done {
				return op.Errorf(op.Usage, "changelog partition %s-%d is empty, and under exactly-once the way to say so depends on the Kafka version that will open the directory", u.Topic, r.Partition).
					WithTry("--target-kafka 4.4 (or the application's version), or kafka-version in the spec")
			}
		}
	}
	return nil
}
