package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// RowsOptions says which store's rows are read, and what is known of them.
type RowsOptions struct {
	Path       string   // a store's directory, or any directory above it
	Store      string   // its name; not needed when Path has one store only
	Tasks      []string // only these; empty for all
	Partitions []int32  // only the tasks of these; empty for all

	Kind       streams.Kind // "": told from the files
	WindowSize int64        // ms; 0: not known, so the end of a window is not either

	// KeepGoing reads a database without the files that are missing or cut off,
	// and goes on behind what is corrupt in the others.
	KeepGoing bool

	// How keys, foreign keys and values are decoded; nil is guessed.
	Key, ForeignKey, Value serde.Serde
}

// RowsResult is what was read: everything but the rows.
type RowsResult struct {
	Application string       `json:"application"` // "" outside of any
	Store       string       `json:"store"`
	Topic       *string      `json:"topic"`      // read instead of a directory; null for a store
	StoreKind   *string      `json:"store_kind"` // null when it is not known: rows are raw then
	KindWhy     string       `json:"store_kind_why"`
	WindowSize  *int64       `json:"window_size_ms"`      // null: ends of windows are not known
	WindowGuess bool         `json:"window_size_guessed"` // it is likely, from the rows
	WindowWhy   string       `json:"window_size_why"`     // "" for kinds without windows
	Key         Decoder      `json:"key"`
	ForeignKey  *Decoder     `json:"foreign_key"` // null for kinds that have none
	Value       Decoder      `json:"value"`
	Sources     []RowsSource `json:"sources"`
	Lock        *MapLock     `json:"lock"`      // of the application; null outside of any
	Count       int64        `json:"count"`     // rows shown or counted
	Undecoded   int64        `json:"undecoded"` // rows with a part that its decoder does not fit: raw bytes are shown
	FirstError  string       `json:"first_error"`
	Limited     bool         `json:"limited"`  // the limit ended it, there may be more
	Complete    bool         `json:"complete"` // false: an error ended it
	// What RowsOptions.KeepGoing went past, 1,000 parts at most.
	Skipped     []SkippedPart `json:"skipped"`
	SkippedMore bool          `json:"skipped_more"` // there were more
	Warnings    []string      `json:"warnings"`
}

// Decoder is how a column is decoded.
type Decoder struct {
	Name    string `json:"name"`
	Guessed bool   `json:"guessed"`
}

// RowsSource is where rows come from: a task's store, or a topic's partition.
type RowsSource struct {
	Task      string     `json:"task"` // "" outside of any, and for a topic
	Partition *int32     `json:"partition"`
	Dir       string     `json:"dir"`
	Databases int        `json:"databases"`
	Rows      int64      `json:"rows"`
	Freshness *Freshness `json:"freshness"` // null for a topic
	// Of a topic: the offsets that were read, [From, To).
	From *int64 `json:"from_offset"`
	To   *int64 `json:"to_offset"`
}

// Rows is a store whose rows can be read, in all its tasks or some.
type Rows struct {
	o             RowsOptions
	app           string
	name          string
	kind          streams.Kind // "": not known
	kindWhy       string
	parts         []*rowsPart
	span          int64 // ms within which all times of a segment lie; 0: not known
	warn          []string
	windowWhy     string // where the size of the windows comes from, or why it is not known; "" before that was looked at
	windowGuessed bool

	raw    bool  // a database of another system: all families as they are
	damage error // why not all rows can be read; nil when nothing is known to be wrong
	skips  lsm.Skips

	mu      sync.Mutex // warn and retried, where pieces are read side by side
	retried int        // how often an application changed files while they were read

	key, foreign, value column
}

// rowsPart is the store in one task.
type rowsPart struct {
	store *Store
	task  string
	part  *int32 // nil: global, or outside of any task
	dbs   []*rowsDB
}

// OpenRows finds the store and tells its kind. Nothing stays open.
func OpenRows(ctx context.Context, o RowsOptions) (*Rows, error) {
	tree, err := Find(ctx, o.Path)
	if err != nil {
		return nil, err
	}
	var names []string
	if o.Store != "" {
		names = []string{o.Store}
	}
	if err := tree.Keep(names, o.Tasks); err != nil {
		return nil, err
	}
	if err := tree.Readable(); err != nil {
		return nil, err
	}
	stores := tree.Stores()
	if err := oneStore(o, stores); err != nil {
		return nil, err
	}
	r := &Rows{o: o, app: stores[0].Task.App.ID, name: stores[0].Name}
	for _, s := range stores {
		p := &rowsPart{store: s, task: s.Task.Name}
		if s.Task.ID != nil {
			n := int32(s.Task.ID.Partition)
			p.part = &n
		}
		if len(o.Partitions) > 0 && (p.part == nil || !slices.Contains(o.Partitions, *p.part)) {
			continue
		}
		r.parts = append(r.parts, p)
	}
	if len(r.parts) == 0 {
		return nil, r.noPartition(stores)
	}
	if err := r.tellKind(ctx, stores); err != nil {
		return nil, err
	}
	for _, p := range r.parts {
		for _, d := range p.store.Databases {
			p.dbs = append(p.dbs, &rowsDB{r: r, dir: d.Dir, only: d.Only, start: d.Start, segmented: p.store.Segmented, inTask: p.task != ""})
		}
		for _, odd := range p.store.Odd {
			r.warn = append(r.warn, odd.Path+": "+odd.What)
		}
	}
	r.columns()
	return r, nil
}

// oneStore refuses several stores at once: their rows are of different kinds.
func oneStore(o RowsOptions, stores []*Store) error {
	if len(stores) == 0 {
		return op.Errorf(op.NotFound, "no store under %s", o.Path)
	}
	var names, apps []string
	for _, s := range stores {
		names = append(names, s.Name)
		apps = append(apps, s.Task.App.Dir)
	}
	for _, list := range []*[]string{&names, &apps} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(names) > 1 {
		return op.Errorf(op.Usage, "%s has %d stores: %s", o.Path, len(names), Few(names)).WithTry("--store %s", names[0])
	}
	if len(apps) > 1 {
		return op.Errorf(op.Usage, "store %s lies in %d places: %s", names[0], len(apps), Few(apps)).WithTry("give one of them as the path")
	}
	if a, b := stores[0].Task.Global(), stores[len(stores)-1].Task.Global(); a != b {
		return op.Errorf(op.Usage, "%s is a global store and one of a task as well", names[0]).WithTry("--task %s", stores[0].Task.Name)
	}
	return nil
}

func (r *Rows) noPartition(stores []*Store) error {
	var have []string
	for _, s := range stores {
		have = append(have, s.Task.Name)
	}
	return op.Errorf(op.NotFound, "store %s: no task here has the partition; there are: %s", r.name, Few(have)).
		WithTry("look in the state directory of another instance, or read the changelog with --topic")
}

// Kind is the store's kind; "" when it is not known.
func (r *Rows) Kind() streams.Kind { return r.kind }

// Name is the store's name.
func (r *Rows) Name() string { return r.name }

// result begins the result document.
func (r *Rows) result() *RowsResult {
	res := &RowsResult{Application: r.app, Store: r.name, KindWhy: r.kindWhy, Lock: r.lock()}
	if r.kind != "" {
		res.StoreKind = pointer(string(r.kind))
	}
	r.sayWindow(res)
	for _, p := range r.parts {
		res.Sources = append(res.Sources, RowsSource{Task: p.task, Partition: p.part, Dir: p.store.Dir, Databases: len(p.dbs), Freshness: r.freshness(p)})
	}
	return res
}

func pointer[T any](v T) *T { return &v }

// errEnough ends a scan that has shown what was asked for.
var errEnough = errors.New("enough rows")

// pass takes rows one by one from where they come to where they go: filter,
// decode, query, count.
type pass struct {
	ctx   context.Context
	r     *Rows
	res   *RowsResult
	src   *RowsSource
	limit int64
	count bool // no row is shown
	keys  bool // values are left out
	query *serde.Query
	fn    func(*Row) error
}

// show hands one row on. It may be called for rows without number: decoding
// is the last thing done.
func (p *pass) show(row *Row) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.count {
		return p.counted()
	}
	row.KeysOnly, row.rows, row.decoded, row.failed = p.keys, p.r, false, ""
	if p.query == nil {
		if err := p.fn(row); err != nil {
			return err
		}
		p.undecoded(row)
		return p.counted()
	}
	row.Queried = true
	in := row.Object()
	p.undecoded(row)
	var own error
	err := p.query.Run(p.ctx, in, func(v any) error {
		row.Result = v
		if own = p.fn(row); own == nil {
			own = p.counted()
		}
		return own
	})
	switch {
	case err == nil || own != nil || p.ctx.Err() != nil:
		return err
	case row.failed != "": // counted: what it is not cannot be asked of it
		return nil
	}
	return &op.Error{Kind: op.KindOf(err), What: fmt.Sprintf("--query on the row of key %x", row.Key.Bytes), Err: err}
}

// undecoded counts a row that was shown as bytes where a decoder was stated.
func (p *pass) undecoded(row *Row) {
	if row.failed == "" {
		return
	}
	if p.res.Undecoded++; p.res.FirstError == "" {
		p.res.FirstError = row.failed
	}
}

func (p *pass) counted() error {
	p.res.Count++
	p.src.Rows++
	if p.limit > 0 && p.res.Count >= p.limit {
		p.res.Limited = true
		return errEnough
	}
	return nil
}

// finish completes the result document.
func (p *pass) finish(err error) (*RowsResult, error) {
	p.res.Key, p.res.Value = p.r.key.decoder(), p.r.value.decoder()
	if p.r.kind == streams.FKSubscription {
		p.res.ForeignKey = pointer(p.r.foreign.decoder())
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil {
		err = p.r.wrong()
	}
	p.r.saySkipped(p.res)
	p.res.Complete = err == nil
	if p.r.retried > 0 {
		p.r.note("%s", retriedNote(int64(p.r.retried)))
	}
	p.res.Warnings = p.r.warn
	return p.res, err
}

// kindNames joins kinds for people.
func kindNames(kinds []streams.Kind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, " or ")
}
