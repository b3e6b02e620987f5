package orphans

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/files"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// Options say what is known, and where is looked.
type Options struct {
	Client     *kafka.Client // nil: no cluster is asked
	StateDir   string        // "": no disk is looked at
	Topologies []Topology
	Apps       []string // whose orphans are looked for; none: those of topologies, of Gone and of the disk, or all
	Gone       []string // ids of applications that exist no more
	Others     []string // ids of further applications: what may be theirs is left alone
	Unused     []string // names that the user knows to be unused: what is likely or unclear, by name, is an orphan then
	Command    Command
}

// Topology is what one application uses.
type Topology struct {
	ApplicationID string
	From          string // the file
	Topology      *topology.Topology
}

// Find looks for orphans; it changes nothing.
func Find(ctx context.Context, o Options, sink op.Sink) (*Result, error) {
	if o.Client == nil && o.StateDir == "" {
		return nil, op.Errorf(op.Usage, "neither a cluster nor a state directory to look in").WithTry("--bootstrap-server HOST:PORT for topics and committed offsets, --state-dir DIR for directories")
	}
	r := &run{o: o, sink: sink, res: &Result{At: time.Now().UTC(), Applications: []Application{}, Orphans: []Orphan{}, Unmeasured: []Unmeasured{}}}
	if err := r.collect(ctx); err != nil {
		return nil, err
	}
	if err := r.knowApps(ctx); err != nil {
		return nil, err
	}
	r.findTopics()
	r.findOffsets()
	if err := r.findDirs(ctx); err != nil {
		return nil, err
	}
	if err := r.believe(); err != nil {
		return nil, err
	}
	r.measure(ctx)
	r.finish()
	return r.res, ctx.Err()
}

// run is one search.
type run struct {
	o    Options
	sink op.Sink
	res  *Result

	topics    map[string]*kafka.TopicInfo // nil: not known
	groups    map[string]*kafka.GroupUse  // those that exist
	groupErrs map[string]error            // those that could not be asked
	groupsErr error                       // the groups could not be listed
	commits   map[string][]kafka.GroupOffset
	tree      *inspect.Tree
	disk      *inspect.Map

	apps       []*app // by id
	everything bool   // nothing says whose orphans are looked for
}

// app finds an application; nil when none is known by the id.
func (r *run) app(id string) *app {
	i, ok := slices.BinarySearchFunc(r.apps, id, func(a *app, id string) int { return strings.Compare(a.id, id) })
	if !ok {
		return nil
	}
	return r.apps[i]
}

func (r *run) unmeasured(what string, err error) {
	r.res.Unmeasured = append(r.res.Unmeasured, Unmeasured{what, err.Error()})
}

func (r *run) add(o Orphan) {
	o.Temporary = o.Temporary || temporary(o.ApplicationID)
	r.res.Orphans = append(r.res.Orphans, o)
}

// believe takes the user's word for what is likely or unclear.
func (r *run) believe() error {
	for _, name := range r.o.Unused {
		known := false
		for i := range r.res.Orphans {
			x := &r.res.Orphans[i]
			if x.Name != name {
				continue
			}
			known = true
			if x.Verdict != Unused {
				x.Verdict, x.Why = Unused, "said to be unused (--unused); else: "+x.Why
			}
		}
		if !known && r.absent(name) {
			r.sink.Warn(name, "--unused "+name+": there is nothing of that name, or no more")
		} else if !known {
			return op.Errorf(op.Usage, "--unused %s: it is not among what is found", name).WithTry("the names as sstool orphans lists them, of those that are likely or unclear")
		}
	}
	return nil
}

// absent says whether there is nothing of the name: a run that was killed may
// have deleted it.
func (r *run) absent(name string) bool {
	if filepath.IsAbs(name) {
		return !files.Exists(name)
	}
	return r.topics != nil && r.topics[name] == nil && streams.ValidateTopic(name) == nil
}

// finish puts all in order and writes the commands.
func (r *run) finish() {
	order := []string{KindTopic, KindGroup, KindOffsets, KindApplicationDir, KindTaskDir, KindStoreDir, KindSegmentDir, KindCheckpoint, KindOffsetsRow, KindLeftover}
	verdicts := []string{Unused, Likely, Unclear}
	slices.SortStableFunc(r.res.Orphans, func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)),
			strings.Compare(a.ApplicationID, b.ApplicationID),
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), strings.Compare(a.Name, b.Name))
	})
	deletable := 0
	for i := range r.res.Orphans {
		x := &r.res.Orphans[i]
		if x.Remove == "" {
			x.Remove = r.o.Command.remove(x)
		}
		if x.Verdict != Unclear && x.Bytes != nil {
			r.res.Bytes += *x.Bytes
		}
		if x.Verdict == Unused && x.Deletable {
			deletable++
		}
	}
	if deletable > 0 {
		r.res.Delete = r.o.Command.Again
	}
	for _, a := range r.apps {
		if a.examined || a.candidate {
			r.res.Applications = append(r.res.Applications, a.result())
		}
	}
}

// result is the application as the document has it.
func (a *app) result() Application {
	out := Application{ID: a.id, Examined: a.examined, Basis: ByNothing, From: a.from, Group: "absent", Undecided: a.undecided, Temporary: temporary(a.id)}
	switch {
	case a.gone:
		out.Basis = ByGone
	case len(a.topologies) > 0 && a.held:
		out.Basis = ByBrokers
	case len(a.topologies) > 0:
		out.Basis = ByTopology
	}
	switch {
	case a.groupErr != nil:
		out.Group = "unmeasured"
	case a.group != nil:
		out.Group, out.Members = a.group.State, a.group.Members
	}
	if a.undecided > 0 {
		out.Why = fmt.Sprintf("%s tells which of them it uses", a.nothing())
	}
	return out
}

// nothing says why the application's names are undecided.
func (a *app) nothing() string {
	switch {
	case a.group != nil && a.group.Members > 0:
		return "its group is running, and without its topology nothing"
	case a.group != nil:
		return "its group exists, so that it may be stopped only, and without its topology nothing"
	}
	return "without its topology nothing"
}
