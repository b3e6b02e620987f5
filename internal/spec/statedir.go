package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// FromStateDir reads an application's state directory: dir is
// <state.dir>/<application-id>, or a state.dir with one application in it.
// Nothing is written and no lock is touched; of a running application the rows
// in memory are not seen.
func FromStateDir(dir string) (*Spec, error) {
	app, err := applicationDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Spec{ApplicationID: filepath.Base(app), tasks: map[int]string{}}
	s.set(FieldApplicationID, certain("name of the state directory"))
	s.set(FieldGuarantee, derived("not in a state directory"))
	s.set(FieldKafkaVersion, derived("not in a state directory"))
	scan := &dirScan{spec: s, stores: map[string]*found{}}
	list, err := os.ReadDir(app)
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: "read state directory", Err: err}
	}
	for _, e := range list {
		path := filepath.Join(app, e.Name())
		task, taskErr := streams.ParseTaskID(e.Name())
		switch {
		case !e.IsDir():
		case taskErr == nil:
			err = scan.task(path, e.Name(), &task)
		case e.Name() == streams.GlobalDir:
			err = scan.task(path, e.Name(), nil)
		case strings.HasPrefix(e.Name(), "__") && strings.HasSuffix(e.Name(), "__"):
			s.Notes = append(s.Notes, fmt.Sprintf("left out: named topology %s (a specification has no named topologies)", strings.Trim(e.Name(), "_")))
		}
		if err != nil {
			return nil, err
		}
	}
	scan.resolveTopics()
	for _, name := range scan.names() {
		if err := scan.stores[name].describe(s); err != nil {
			return nil, err
		}
	}
	if scan.library != "" {
		s.set(FieldKafkaVersion, derived("%s", scan.library))
	}
	s.settle()
	return s, nil
}

// applicationDir finds the application's directory at dir or below.
func applicationDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &op.Error{Kind: op.Failed, What: "state directory " + dir, Err: err}
	}
	list, err := os.ReadDir(abs)
	if err != nil {
		kind := op.Failed
		if errors.Is(err, fs.ErrNotExist) {
			kind = op.NotFound
		}
		return "", &op.Error{Kind: kind, What: "state directory", Err: err}
	}
	if isApplication(list) {
		return abs, nil
	}
	var apps []string
	for _, e := range list {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		sub, err := os.ReadDir(filepath.Join(abs, e.Name()))
		if err == nil && isApplication(sub) {
			apps = append(apps, e.Name())
		}
	}
	switch len(apps) {
	case 0:
		return "", op.Errorf(op.NotFound, "%s: no task directory (like 0_0) here or one level below", dir).
			WithTry("give <state.dir>/<application-id>")
	case 1:
		return filepath.Join(abs, apps[0]), nil
	}
	return "", op.Errorf(op.Usage, "%s has %d applications: %s", dir, len(apps), strings.Join(apps, ", ")).
		WithTry("give one of them: %s", filepath.Join(dir, apps[0]))
}

// isApplication says whether a directory with these entries is an application's.
func isApplication(list []os.DirEntry) bool {
	return slices.ContainsFunc(list, func(e os.DirEntry) bool {
		if !e.IsDir() {
			return e.Name() == streams.ProcessFile
		}
		_, err := streams.ParseTaskID(e.Name())
		return err == nil || e.Name() == streams.GlobalDir
	})
}

// dirScan collects what an application's directory holds.
type dirScan struct {
	spec    *Spec
	stores  map[string]*found // by name; global ones behind a "/"
	topics  []seenTopic       // from .checkpoint files
	library string
}

// seenTopic is a topic of a .checkpoint file.
type seenTopic struct {
	name   string
	sub    int // -1: global
	places string
}

// found is one store as it lies on disk.
type found struct {
	name       string
	global     bool
	segmented  bool
	subs       map[int][]string // sub-topology: task directories
	dbs        []database
	topics     map[string]bool // from its own offsets family or checkpoint file
	offsets    bool            // databases have an offsets family that says something
	family     bool            // databases have one
	checkpoint bool            // a task of it has a .checkpoint file
	logged     bool            // its own changelog was seen
	topic      string          // resolved: not the usual changelog
	topicFrom  Source
	unlogged   string // why it has no changelog
	topicNote  string
}

// database is one RocksDB of a store.
type database struct {
	dir      string
	start    int64 // of the segment, in ms
	families []string
}

func (d *dirScan) names() []string {
	names := make([]string, 0, len(d.stores))
	for n := range d.stores {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (d *dirScan) store(name string, task *streams.TaskID, segmented bool, taskName string) *found {
	key := name
	if task == nil {
		key = "/" + name
	}
	f := d.stores[key]
	if f == nil {
		f = &found{name: name, global: task == nil, segmented: segmented, subs: map[int][]string{}, topics: map[string]bool{}}
		d.stores[key] = f
	}
	if task != nil {
		f.subs[task.Subtopology] = append(f.subs[task.Subtopology], taskName)
	}
	return f
}

// task reads one task directory, or global/ when task is nil.
func (d *dirScan) task(path, name string, task *streams.TaskID) error {
	list, err := os.ReadDir(path)
	if err != nil {
		return &op.Error{Kind: op.Failed, What: "read task directory", Err: err}
	}
	cp, err := streams.ReadCheckpoint(filepath.Join(path, streams.CheckpointFile))
	if err != nil {
		return err
	}
	sub := -1
	if task != nil {
		sub = task.Subtopology
		if have, ok := d.spec.tasks[sub]; !ok {
			d.spec.tasks[sub] = name
		} else if !strings.HasSuffix(have, "…") {
			d.spec.tasks[sub] = have + ", …"
		}
	}
	for tp := range cp {
		d.see(seenTopic{tp.Topic, sub, name})
	}
	var here []*found
	for _, e := range list {
		switch {
		case !e.IsDir():
		case e.Name() == streams.RocksDir:
			dbs, err := os.ReadDir(filepath.Join(path, e.Name()))
			if err != nil {
				return &op.Error{Kind: op.Failed, What: "read task directory", Err: err}
			}
			for _, db := range dbs {
				if !db.IsDir() {
					continue
				}
				f := d.store(db.Name(), task, false, name)
				here = append(here, f)
				if err := d.database(f, filepath.Join(path, e.Name(), db.Name()), 0); err != nil {
					return err
				}
			}
		default:
			f := d.store(e.Name(), task, true, name)
			here = append(here, f)
			if err := d.segments(f, filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, f := range here {
		f.checkpoint = f.checkpoint || len(cp) > 0
		// Stores that Kafka Streams wraps keep a file of their own (4.3+).
		own, err := streams.ReadCheckpoint(filepath.Join(path, streams.CheckpointFile+"_"+f.name))
		if err != nil {
			return err
		}
		for tp := range own {
			f.topics[tp.Topic] = true
		}
	}
	return nil
}

func (d *dirScan) see(t seenTopic) {
	for i := range d.topics {
		if d.topics[i].name == t.name && d.topics[i].sub == t.sub {
			d.topics[i].places += ", " + t.places
			return
		}
	}
	d.topics = append(d.topics, t)
}

// segments reads a segmented store's directory.
func (d *dirScan) segments(f *found, path string) error {
	list, err := os.ReadDir(path)
	if err != nil {
		return &op.Error{Kind: op.Failed, What: "read store directory", Err: err}
	}
	for _, e := range list {
		start, ok := streams.ParseSegmentDir(f.name, e.Name())
		if !ok || !e.IsDir() {
			d.spec.Notes = append(d.spec.Notes, fmt.Sprintf("%s is not a segment of store %s", filepath.Join(path, e.Name()), f.name))
			continue
		}
		if err := d.database(f, filepath.Join(path, e.Name()), start); err != nil {
			return err
		}
	}
	return nil
}

// database reads one RocksDB's families and its offsets.
func (d *dirScan) database(f *found, path string, start int64) error {
	v, err := lsm.ReadManifest(path)
	if op.KindOf(err) == op.NotFound && err != nil {
		return nil // a directory made for a store that was never opened
	}
	if err != nil {
		return err
	}
	db := database{dir: path, start: start}
	for _, fam := range v.Families {
		if fam.Name != streams.OffsetsFamily {
			db.families = append(db.families, fam.Name)
			continue
		}
		f.family = true
		err := lsm.Rows(path, fam.Name, func(key, _ []byte) error {
			f.offsets = true
			if tp, ok := streams.ParseOffsetsKey(key); ok {
				f.topics[tp.Topic] = true
			}
			return nil
		})
		if err != nil && op.KindOf(err) != op.NotFound { // not there: just dropped
			return err
		}
	}
	f.dbs = append(f.dbs, db)
	if d.library == "" {
		if o, err := lsm.ReadOptions(path); err == nil {
			d.library = "written by RocksDB " + o.RocksDBVersion
			if f.family {
				d.library += " with an offsets family: Kafka 4.3 or later"
			}
		}
	}
	return nil
}
