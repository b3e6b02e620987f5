package migrate

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// NewCloner is the Cloner of a state directory (Kafka Streams' state.dir). It
// brings stores under their new names. Old directories stay as they are: SST
// files, which nobody ever changes, are linked, and only the small files around
// them are copied.
func NewCloner(stateDir string) Cloner { return &cloner{stateDir: filepath.Clean(stateDir)} }

type cloner struct {
	stateDir string
	stop     func(point string) error // a test's: dies at a point
}

// reached is where a run may be stopped for good.
func (c *cloner) reached(point string) error {
	if c.stop == nil {
		return nil
	}
	return c.stop(point)
}

// ClonePlan is what cloning would do, or has done, in one state directory.
type ClonePlan struct {
	StateDir  string      `json:"state_dir"`
	Tasks     []CloneTask `json:"tasks"`
	Links     int         `json:"links"` // files
	LinkBytes int64       `json:"link_bytes"`
	Copies    int         `json:"copies"`
	CopyBytes int64       `json:"copy_bytes"`
	SpaceFree *int64      `json:"space_free"` // null when the file system does not tell
	Warnings  []string    `json:"warnings"`
	// Sub-topologies of the old version's global stores whose numbers clones get:
	// it does not start beside them.
	BlockOld []int `json:"blocks_old_subtopologies"`

	sources []string // topics of .checkpoint lines that are no internal ones: source topics that serve as changelogs
}

// CloneTask is a task directory and the one that gets its stores.
type CloneTask struct {
	From   string       `json:"from"` // "0_1", "global"
	To     string       `json:"to"`
	Stores []CloneStore `json:"stores"`
}

// CloneState is what becomes of a store.
type CloneState string

// The states of a store in a plan.
const (
	ToClone CloneState = "to clone"
	Cloned  CloneState = "cloned"
	LeftOut CloneState = "left out" // the application restores it from the changelog
)

// CloneStore is one store of a task.
type CloneStore struct {
	Old       string        `json:"old_store"`
	New       string        `json:"new_store"`
	State     CloneState    `json:"state"`
	Reason    string        `json:"reason"` // why it is left out, or what should be known
	Databases int           `json:"databases"`
	Links     int           `json:"links"`
	LinkBytes int64         `json:"link_bytes"`
	Copies    int           `json:"copies"`
	CopyBytes int64         `json:"copy_bytes"`
	Offsets   []CloneOffset `json:"offsets"`

	move      *StoreMove
	dbs       []database
	segmented bool
}

// CloneOffset is how far a store has come in its changelog.
type CloneOffset struct {
	Topic     string `json:"topic"`
	NewTopic  string `json:"new_topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	NewOffset *int64 `json:"new_offset"` // null: not known before the topic is copied
	Home      string `json:"home"`       // .checkpoint, or offsets: the column family
}

// stores calls fn for every store of the plan.
func (p *ClonePlan) stores(fn func(t *CloneTask, s *CloneStore)) {
	for i := range p.Tasks {
		for j := range p.Tasks[i].Stores {
			fn(&p.Tasks[i], &p.Tasks[i].Stores[j])
		}
	}
}

// Count is how many stores are in a state.
func (p *ClonePlan) Count(state CloneState) (n int) {
	p.stores(func(_ *CloneTask, s *CloneStore) {
		if s.State == state {
			n++
		}
	})
	return n
}

// app is the directory of an application.
func (c *cloner) app(id string) string { return filepath.Join(c.stateDir, id) }

// Plan finds what there is to clone and refuses what must not be. It changes
// nothing. Before the topics are copied, new offsets are not known.
func (c *cloner) Plan(ctx context.Context, m *Migration) (*ClonePlan, error) {
	j, err := c.readJournal(m)
	if err != nil {
		return nil, err
	}
	return c.plan(ctx, newCloning(m), j)
}

// cloning is a migration with its offset maps at hand: those of the topics whose
// copies are whole.
type cloning struct {
	*Migration
	maps Maps
}

func newCloning(m *Migration) *cloning {
	c := &cloning{m, m.Maps()}
	maps.DeleteFunc(c.maps, func(_ string, t *TopicMap) bool { return !m.done("verify:" + t.New) })
	return c
}

// plan is Plan with the journal of what was done before.
func (c *cloner) plan(ctx context.Context, m *cloning, j *cloneJournal) (*ClonePlan, error) {
	p := &ClonePlan{StateDir: c.stateDir, Tasks: []CloneTask{}, Warnings: []string{}, BlockOld: []int{}}
	if !files.Exists(c.stateDir) {
		return nil, op.Errorf(op.NotFound, "there is no state directory %s", c.stateDir)
	}
	if !files.Exists(c.app(m.OldApp)) {
		p.warn("%s has no directory of %q: nothing is cloned here", c.stateDir, m.OldApp)
		return p, nil
	}
	found, err := findTasks(c.app(m.OldApp))
	if err != nil {
		return nil, err
	}
	for _, strange := range found.strange {
		p.warn("%s: %s", filepath.Join(c.app(m.OldApp), strange), "not a task directory that could be cloned; it is left alone")
	}
	for i := range found.tasks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.planTask(m, j, p, &found.tasks[i]); err != nil {
			return nil, err
		}
	}
	if m.Kind == Rename && len(p.sources) > 0 {
		slices.Sort(p.sources)
		p.warn("stores restored from source topics (%s) must keep their names in the new version: rename does not move them, and a new, empty one would be taken for complete, as .checkpoint says how far the old one had come. To rename them too, use sstool migrate topology for all names",
			strings.Join(p.sources, ", "))
	}
	p.stores(func(_ *CloneTask, s *CloneStore) {
		if s.State != LeftOut {
			p.Links, p.LinkBytes = p.Links+s.Links, p.LinkBytes+s.LinkBytes
			p.Copies, p.CopyBytes = p.Copies+s.Copies, p.CopyBytes+s.CopyBytes
		}
	})
	for _, id := range p.BlockOld {
		p.warn("sub-topology %d is that of a global store in the old version: once task directories with this number are cloned, it does not start on this host before sstool migrate abort FILE --state-dir %s", id, c.stateDir)
	}
	p.SpaceFree = freeSpace(c.stateDir)
	return p, nil
}

func (p *ClonePlan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// planTask adds what is cloned out of one task directory.
func (c *cloner) planTask(m *cloning, j *cloneJournal, p *ClonePlan, t *taskFound) error {
	var offsets streams.Checkpoint // of the .checkpoint
	var err error
	if offsets, err = streams.ReadCheckpoint(filepath.Join(t.dir, streams.CheckpointFile)); err != nil {
		return err
	}
	for tp := range offsets {
		if !streams.IsInternalTopic(m.OldApp, tp.Topic) && !slices.Contains(p.sources, tp.Topic) {
			p.sources = append(p.sources, tp.Topic)
		}
	}
	moves := movesOf(m, t)
	for i := range moves {
		move := &moves[i]
		to := t.name
		if move.NewSub != nil && t.task != nil {
			to = streams.TaskID{Subtopology: *move.NewSub, Partition: t.task.Partition}.String()
		}
		if move.OldApp == move.NewApp && move.OldStore == move.NewStore && to == t.name {
			continue // it stays where it is
		}
		f := t.store(move.OldStore)
		s := CloneStore{Old: move.OldStore, New: move.NewStore, State: ToClone, Offsets: []CloneOffset{}, move: move, segmented: f.Segmented}
		target := filepath.Join(c.app(m.NewApp), to)
		if done := j.store(t.name, to, move.NewStore); done != nil {
			s = done.CloneStore
			s.State, s.move = Cloned, move
		} else {
			if err := refuseTaken(target, move); err != nil {
				return err
			}
			if err := c.planStore(m, t, f, offsets, &s); err != nil {
				return err
			}
			if s.blocksOld() && !slices.Contains(p.BlockOld, *move.NewSub) {
				p.BlockOld = append(p.BlockOld, *move.NewSub)
			}
		}
		into := p.task(t.name, to)
		into.Stores = append(into.Stores, s)
	}
	p.dropUncertain(t.name)
	return nil
}

// blocksOld says that the old version does not start beside the store's clone:
// Kafka Streams that keeps offsets in the databases, from 4.3 on, opens every
// task directory at its start with the stores that its topology has under that
// number, and dies on a second instance of a global store
// (StateDirectory.initializeStartupStores).
func (s *CloneStore) blocksOld() bool {
	return s.State == ToClone && s.move.MeetsGlobal && slices.ContainsFunc(s.dbs, func(db database) bool { return db.offsets })
}

// dropUncertain drops the lines of topics of which it is not known to which
// store they belong, when one of the possible stores is left out: a line whose
// store is not there would be taken for an empty store that is up to date.
func (p *ClonePlan) dropUncertain(from string) {
	leftOut := false
	p.stores(func(t *CloneTask, s *CloneStore) {
		leftOut = leftOut || t.From == from && s.State == LeftOut && s.move.OldTopic == ""
	})
	if !leftOut {
		return
	}
	p.stores(func(t *CloneTask, s *CloneStore) {
		if t.From == from && s.move.OldTopic == "" {
			s.Offsets = slices.DeleteFunc(s.Offsets, func(o CloneOffset) bool { return o.Home == homeFile })
		}
	})
}

// task is the plan's entry for a pair of directories, made when it is new.
func (p *ClonePlan) task(from, to string) *CloneTask {
	for i := range p.Tasks {
		if p.Tasks[i].From == from && p.Tasks[i].To == to {
			return &p.Tasks[i]
		}
	}
	p.Tasks = append(p.Tasks, CloneTask{From: from, To: to, Stores: []CloneStore{}})
	return &p.Tasks[len(p.Tasks)-1]
}

// refuseTaken refuses a new name that is not free: what stands there, or a line
// about its changelog, could fit the copy by accident.
func refuseTaken(target string, move *StoreMove) error {
	for _, path := range []string{filepath.Join(target, streams.RocksDir, move.NewStore), filepath.Join(target, move.NewStore)} {
		full, err := files.NonEmpty(path)
		if err != nil {
			return err
		}
		if full {
			return op.Errorf(op.Precondition, "%s is there already: the new name must be free", path).
				WithTry("choose another name, or move that directory out of the application's directory if it is left over")
		}
	}
	if move.NewTopic == "" || move.NewTopic == move.OldTopic {
		return nil
	}
	path := filepath.Join(target, streams.CheckpointFile)
	c, err := streams.ReadCheckpoint(path)
	if err != nil {
		return err
	}
	for tp := range c {
		if tp.Topic == move.NewTopic {
			return op.Errorf(op.Precondition, "%s has a line about %s, which is new: it is left from an earlier topic of that name and would fit the new one by accident", path, tp.Topic).
				WithTry("remove the line, or the task directory, if no application uses it")
		}
	}
	return nil
}

// movesOf are the moves that concern a task. Under another application id the
// stores that no move names go along as they are: those without a changelog,
// which only the directories know.
func movesOf(m *cloning, t *taskFound) []StoreMove {
	var out []StoreMove
	named := map[string]bool{}
	for _, move := range m.Moves {
		if move.Global != (t.task == nil) || move.OldSub != nil && t.task != nil && *move.OldSub != t.task.Subtopology {
			continue
		}
		if t.store(move.OldStore) != nil {
			out = append(out, move)
			named[move.OldStore] = true
		}
	}
	if m.OldApp == m.NewApp {
		return out
	}
	for _, s := range t.stores {
		if !named[s.Name] {
			out = append(out, StoreMove{OldApp: m.OldApp, NewApp: m.NewApp, OldStore: s.Name, NewStore: s.Name, Global: t.task == nil})
		}
	}
	return out
}

// lostTopic says of an offset that it is about a topic of the old application
// which was not copied.
func lostTopic(m *cloning, move *StoreMove, topic string) bool {
	return m.OldApp != m.NewApp && topic != move.OldTopic && strings.HasPrefix(topic, m.OldApp+"-") && streams.IsInternalTopic(m.OldApp, topic)
}
