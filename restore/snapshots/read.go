package snapshots

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/internal/files"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/snapshot"
	"sstool/internal/spec"
	"sstool/internal/standby"
	"sstool/internal/streams"
)

// The processing guarantees; "" is not known.
const (
	AtLeastOnce = spec.AtLeastOnce
	ExactlyOnce = spec.ExactlyOnce
)

// reader reads the tasks of an application's directory.
type reader struct {
	app    string // the directory
	o      *PushOptions
	kinds  *spec.Spec
	m      *snapshot.Manifest
	levels map[string]int // of SST files by "task/path"
	warn   func(format string, args ...any)
}

// tasks reads the task directories that are asked for.
func (r *reader) tasks() error {
	names, err := files.Subdirs(r.app)
	if err != nil {
		return cannotRead(err)
	}
	var ids []streams.TaskID
	global := false
	for _, name := range names {
		id, err := streams.ParseTaskID(name)
		switch {
		case name == streams.GlobalDir:
			global = true
		case err == nil:
			ids = append(ids, id)
		default:
			r.warn("%s is no task directory and is left out", filepath.Join(r.app, name))
		}
	}
	if err := checkTasks(r.app, names, r.o.Tasks); err != nil {
		return err
	}
	slices.SortFunc(ids, streams.TaskID.Compare)
	var order []string
	for _, id := range ids {
		order = append(order, id.String())
	}
	if global {
		order = append(order, streams.GlobalDir)
	}
	for _, name := range order {
		if len(r.o.Tasks) > 0 && !slices.Contains(r.o.Tasks, name) {
			continue
		}
		t, err := r.task(name)
		if err != nil {
			return err
		}
		if t != nil {
			r.m.Tasks = append(r.m.Tasks, *t)
		}
	}
	if len(r.m.Tasks) == 0 {
		return op.Errorf(op.NotFound, "%s has no task with a store", r.app)
	}
	return nil
}

// checkTasks refuses tasks that are not there.
func checkTasks(app string, there, wanted []string) error {
	for _, want := range wanted {
		if _, err := streams.ParseTaskID(want); err != nil && want != streams.GlobalDir || !slices.Contains(there, want) {
			return op.Errorf(op.NotFound, "%s has no task %s", app, want).WithTry("sstool inspect %s lists the tasks", app)
		}
	}
	return nil
}

// task reads one task directory; nil when it has no store.
func (r *reader) task(name string) (*snapshot.Task, error) {
	dir := filepath.Join(r.app, name)
	on, err := streams.StoresOnDisk(dir)
	if err != nil {
		return nil, cannotRead(err)
	}
	t := &snapshot.Task{Name: name, Stores: []snapshot.Store{}, Files: []snapshot.File{}}
	cp, err := streams.ReadCheckpoint(filepath.Join(dir, streams.CheckpointFile))
	if err != nil {
		return nil, err
	}
	known := []string{streams.CheckpointFile}
	databases := map[string][]*lsm.Live{} // by store
	for i := range on {
		s, dbs, err := r.store(name, dir, &on[i], cp)
		if err != nil {
			return nil, fmt.Errorf("store %q of task %s: %w", on[i].Name, name, err)
		}
		t.Stores = append(t.Stores, *s)
		known = append(known, filepath.Base(streams.PositionFile("", on[i].Name)), streams.CheckpointFile+"_"+on[i].Name)
		databases[on[i].Name] = dbs
	}
	if len(t.Stores) == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cannotRead(err)
	}
	var checkpointed time.Time
	for _, e := range entries {
		if e.IsDir() || e.Name() == streams.LockFile {
			continue
		}
		i, err := e.Info()
		if err != nil || !i.Mode().IsRegular() || !slices.Contains(known, e.Name()) {
			r.warn("%s is none of Kafka Streams' files and is left out", filepath.Join(dir, e.Name()))
			continue
		}
		if e.Name() == streams.CheckpointFile {
			checkpointed = i.ModTime()
			written(t, checkpointed.UTC())
		}
		t.Files = append(t.Files, snapshot.File{Path: e.Name(), Size: i.Size(), Modified: i.ModTime().UTC()})
	}
	return t, r.closedCleanly(t, checkpointed, databases)
}

// written notes that the offsets in the .checkpoint are as new as it is.
func written(t *snapshot.Task, checkpointed time.Time) {
	for i := range t.Stores {
		s := &t.Stores[i]
		in := func(o snapshot.Offset) bool { return o.Home == streams.CheckpointFile }
		if slices.ContainsFunc(s.Offsets, in) && checkpointed.After(s.Written) {
			s.Written = checkpointed
		}
	}
}

// closedCleanly refuses a task of an exactly-once application that was killed:
// its stores may hold rows of a transaction that was aborted. From Kafka 4.3 on
// the status row says so, see store. Before, a .checkpoint that is older than a
// memtable's file does: a clean close writes it after all flushes, and a running
// application has the one of its start. (Kafka Streams itself takes that one.)
func (r *reader) closedCleanly(t *snapshot.Task, checkpointed time.Time, databases map[string][]*lsm.Live) error {
	if r.o.Guarantee == AtLeastOnce || t.Name == streams.GlobalDir || r.o.ClosedCleanly {
		return nil
	}
	offsets, written := 0, ""
	left := standby.LeftBy(r.o.StateDir, r.o.ApplicationID)
	for i := range t.Stores {
		s := &t.Stores[i]
		offsets += len(s.Offsets)
		since := checkpointed
		if l := left[t.Name]; l.Checkpoint.Equal(checkpointed) && slices.Contains(l.Stores, s.Name) {
			since = l.At
		}
		late := func(l *lsm.Live) bool { return l.FlushedAfter(since) }
		if r.o.followed[t.Name+"/"+s.Name] {
			continue // a follower's .checkpoint has another time
		}
		classic := !slices.Contains(s.Families, streams.OffsetsFamily)
		if classic && !checkpointed.IsZero() && slices.ContainsFunc(databases[s.Name], late) {
			written = s.Name
		}
	}
	refuse := func(why string) error {
		e := op.Errorf(op.Precondition, "task %s was not closed cleanly: %s; under exactly-once it may hold rows of an aborted transaction", t.Name, why)
		return e.WithTry("start the application and stop it in order; --processing-guarantee at_least_once if it is that; --closed-cleanly if you know that it was")
	}
	switch {
	case offsets == 0 && r.o.Guarantee == ExactlyOnce:
		return refuse("no store of it has an offset")
	case written != "":
		return refuse(fmt.Sprintf("store %q was written after its .checkpoint", written))
	}
	return nil
}

// store reads one store and its databases.
func (r *reader) store(task, taskDir string, on *streams.StoreOnDisk, cp streams.Checkpoint) (s *snapshot.Store, databases []*lsm.Live, err error) {
	s = &snapshot.Store{Name: on.Name, Segmented: on.Segmented, Databases: len(on.Databases), Families: []string{}, Offsets: []snapshot.Offset{}, Files: []snapshot.File{}}
	topic := streams.ChangelogTopic(r.m.ApplicationID, on.Name)
	if r.kinds != nil {
		if k, ok := r.kinds.Store(on.Name); ok {
			s.Kind = string(k.Kind)
			if k.Topic != "" {
				topic = k.Topic
			}
		}
	}
	if on.Strange != "" {
		r.warn("%s: %q is no segment and is left out", on.Dir, on.Strange)
	}
	rows := streams.Checkpoint{} // of the newest segment that has one
	for _, dir := range on.Databases {
		live, err := r.database(taskDir, dir, s, rows)
		if err != nil {
			return nil, nil, err
		}
		databases = append(databases, live)
	}
	inFamily := slices.Contains(s.Families, streams.OffsetsFamily)
	for _, tp := range rows.Keys() {
		if off, ok := cp[tp]; !ok || off == streams.OffsetUnknown {
			s.Offsets = append(s.Offsets, snapshot.Offset{Topic: tp.Topic, Partition: tp.Partition, Offset: rows[tp], Home: streams.OffsetsFamily})
		}
	}
	for _, tp := range cp.Keys() {
		_, row := rows[tp]
		if tp.Topic == topic && (cp[tp] != streams.OffsetUnknown || !inFamily) || row && cp[tp] != streams.OffsetUnknown {
			s.Offsets = append(s.Offsets, snapshot.Offset{Topic: tp.Topic, Partition: tp.Partition, Offset: cp[tp], Home: streams.CheckpointFile})
		}
	}
	if len(s.Offsets) == 0 && len(s.Files) > 0 {
		r.warn("store %q of task %s has no offset: it has no changelog, or Kafka Streams restores it in full", on.Name, task)
	}
	for _, f := range s.Files {
		if f.Modified.After(s.Written) {
			s.Written = f.Modified
		}
	}
	return s, databases, nil
}

// database adds the live files of one database to the store.
func (r *reader) database(taskDir, dir string, s *snapshot.Store, rows streams.Checkpoint) (*lsm.Live, error) {
	live, err := lsm.LiveFiles(dir)
	if err != nil {
		return nil, cannotRead(err)
	}
	for i := range live.Version.Families {
		if name := live.Version.Families[i].Name; !slices.Contains(s.Families, name) {
			s.Families = append(s.Families, name)
		}
	}
	if o, err := lsm.ReadOptions(dir); err == nil {
		s.RocksDB = o.RocksDBVersion
	}
	base, err := filepath.Rel(taskDir, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range live.Files {
		s.Files = append(s.Files, snapshot.File{Path: filepath.ToSlash(filepath.Join(base, f.Name)), Size: f.Size, Modified: f.Modified.UTC()})
		if f.Immutable {
			r.levels[filepath.Base(taskDir)+"/"+s.Files[len(s.Files)-1].Path] = f.Level
		}
	}
	if _, ok := live.Version.Family(streams.OffsetsFamily); !ok {
		return live, nil
	}
	err = lsm.Rows(dir, streams.OffsetsFamily, func(key, value []byte) error {
		key = bytes.Clone(key)
		if string(key) == streams.StatusKey {
			status, err := streams.DecodeOffset(value)
			if (err != nil || status == streams.StatusOpen) && r.o.Guarantee != AtLeastOnce {
				return op.Errorf(op.Precondition, "it was not closed cleanly, as its status row says: under exactly-once it may hold rows of an aborted transaction, and Kafka Streams would wipe it").
					WithTry("start the application and stop it in order; --processing-guarantee at_least_once if it is that")
			}
			return nil
		}
		tp, ok := streams.ParseOffsetsKey(key)
		if !ok {
			return nil
		}
		off, err := streams.DecodeOffset(value)
		if err != nil {
			return op.Errorf(op.Corrupt, "%s: offset of %s: %w", dir, tp, err)
		}
		rows[tp] = off // a newer segment's wins
		return nil
	})
	return live, err
}

// cannotRead gives a failure to read a directory its next step.
func cannotRead(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &op.Error{Kind: op.Failed, Err: err, Try: op.TryRights}
	}
	return err
}
