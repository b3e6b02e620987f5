package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
)

// restartChecks are about what the next start does with every task.
func restartChecks() []Check {
	return []Check{
		{ID: "restart.next", Area: AreaRestart, Title: "what the next start does with every task", needs: []need{needsState}, run: nextStart},
		{ID: "restart.fails", Area: AreaRestart, Title: "the application starts on the state that is here", needs: []need{needsState}, run: startFails},
		{ID: "restart.wiped", Area: AreaRestart, Title: "no task is wiped", needs: []need{needsState}, run: tasksWiped},
		{ID: "restart.from-start", Area: AreaRestart, Title: "stores with rows have an offset to go on from", needs: []need{needsState}, run: fromStart},
		{ID: "restart.out-of-range", Area: AreaRestart, Title: "stored offsets lie within the changelogs", needs: []need{needsState, needsCluster}, run: outOfRange},
		{ID: "restart.changelog-lost", Area: AreaRestart, Title: "stores with rows have a changelog with records", needs: []need{needsState, needsCluster}, run: changelogLost},
		{ID: "restart.zombies", Area: AreaRestart, Title: "no task was stopped for longer than its changelogs keep tombstones", needs: []need{needsState, needsCluster}, run: zombies},
		{ID: "restart.taken-for-complete", Area: AreaRestart, Title: "every offset has its store", needs: []need{needsState}, run: takenForComplete},
		{ID: "restart.unknown-topics", Area: AreaRestart, Title: "stored offsets are of topics that exist", needs: []need{needsState, needsCluster}, run: unknownTopics},
		{ID: "restart.sources", Area: AreaRestart, Title: "committed offsets of source topics lie within the topics", needs: []need{needsCluster, needsID}, run: sourcesInRange},
		{ID: "restart.segments", Area: AreaRestart, Title: "directories of segmented stores hold segments only", needs: []need{needsState}, run: segmentStrays},
		{ID: "restart.files", Area: AreaRestart, Title: "the stores' files are whole", needs: []need{needsState}, run: filesWhole},
		{ID: "restart.log", Area: AreaRestart, Title: "RocksDB's LOG files have no errors", needs: []need{needsState}, run: rocksLog},
		{ID: "restart.global", Area: AreaRestart, Title: "global stores open", needs: []need{needsState}, run: globalStores},
		{ID: "restart.leftovers", Area: AreaRestart, Title: "what a clean-up left is harmless", needs: []need{needsState}, run: leftovers},
		{ID: "restart.cleaner", Area: AreaRestart, Title: "the cleaner keeps the tasks that are here", needs: []need{needsState}, run: cleaner},
		{ID: "restart.two-hosts", Area: AreaRestart, Title: "no two hosts are in each other's way", needs: []need{needsState}, run: twoHosts},
	}
}

// nextStart sums the table up, and says what it assumes.
func nextStart(f *facts, r *report) {
	starts := f.starts()
	count := map[string]int{}
	var differ []string
	for _, s := range starts {
		count[s.Will]++
		if s.ExactlyOnce != nil {
			differ = append(differ, fmt.Sprintf("%s: exactly-once: %s; at-least-once: %s", s.Task, told(*s.ExactlyOnce), told(s.Start)))
		}
	}
	var sums []string
	for _, will := range []string{WillFail, WillWipe, WillRestore, WillResume, WillNothing, ""} {
		if n := count[will]; n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, cmp.Or(will, "unknown")))
		}
	}
	v, why := f.kafka()
	assumed := "as Kafka Streams " + short(v)
	if why != "" {
		assumed += ", " + why
	}
	if g, why := f.guarantee(); why != "" {
		assumed += "; under " + g + ", " + why
	}
	if len(differ) > 0 {
		u := r.unmeasured("", "the processing guarantee is not known (--app-config or --processing-guarantee), and %d tasks depend on it", len(differ)).because("%s", assumed)
		for i, d := range differ {
			if i == 10 {
				u.because("… and %d more", len(differ)-i)
				break
			}
			u.because("%s", d)
		}
		return
	}
	r.ok("", "%d tasks: %s", len(starts), cmp.Or(strings.Join(sums, ", "), "none")).because("%s", assumed)
}

// told is an outcome for people.
func told(s Start) string {
	text := cmp.Or(map[string]string{WillNothing: "nothing to restore", WillResume: "resumes", WillRestore: "restores from the log start", WillWipe: "wiped", WillFail: "does not start"}[s.Will], "unknown")
	if s.Records != nil && *s.Records > 0 {
		text += fmt.Sprintf(", replays %s records", human.Count(*s.Records))
	}
	if s.Seconds != nil && *s.Seconds > 0 {
		text += ", " + took(*s.Seconds)
	}
	if s.Why != "" && s.Will != WillResume {
		text += " (" + s.Why + ")"
	}
	return text
}

func took(seconds float64) string {
	return human.Duration(time.Duration(seconds * float64(time.Second)))
}

// because groups the tasks that share a reason, so that one cause is told once.
type because struct {
	why     string
	tasks   []string
	records *int64
	seconds *float64
}

// grouped are the tasks of the given outcome by their reason. A task of an
// application that runs is left out: what it leaves is not on disk yet.
func (f *facts) grouped(will string, want func(t *lyingTask, s *StoreStart) bool) []*because {
	var out []*because
	eos, known := f.exactlyOnce()
	for _, t := range f.lyingTasks() {
		if t.held {
			continue
		}
		start, stores := f.next(eos).task(t)
		if start.Will != will {
			continue
		}
		if !known { // only what holds under both
			if other, _ := f.next(true).task(t); other.Will != will {
				continue
			}
		}
		for i := range stores {
			s := &stores[i]
			if s.Will != will || s.cause == byTask || !want(t, s) {
				continue
			}
			out = group(out, s.Why, f.name(t)+", store "+s.Store, start)
		}
	}
	return out
}

// add takes a task's store in; a task of several such stores counts once.
func (b *because) add(name string, start Start) {
	task, _, _ := strings.Cut(name, ",")
	counted := slices.ContainsFunc(b.tasks, func(t string) bool { return strings.HasPrefix(t, task+",") })
	b.tasks = append(b.tasks, name)
	if start.Records == nil {
		b.records = nil
	}
	if start.Seconds == nil {
		b.seconds = nil
	}
	if b.records != nil && !counted {
		*b.records += *start.Records
	}
	if b.seconds != nil && !counted {
		*b.seconds += *start.Seconds
	}
}

// group adds a task's store to those of the same reason.
func group(all []*because, why, name string, start Start) []*because {
	i := slices.IndexFunc(all, func(b *because) bool { return b.why == why })
	if i < 0 {
		i = len(all)
		all = append(all, &because{why: why, records: new(int64), seconds: new(float64)})
	}
	all[i].add(name, start)
	return all
}

// replay says how much is read again.
func (b *because) replay() string {
	text := "records again, of which the number is not known"
	if b.records != nil {
		text = "up to " + human.Count(*b.records) + " records again"
	}
	if b.seconds != nil && *b.seconds > 0 {
		text += ", some " + took(*b.seconds)
	}
	return text
}

func subject(tasks []string) string {
	if len(tasks) == 1 {
		return tasks[0]
	}
	return fmt.Sprintf("%d stores", len(tasks))
}

func (b *because) evidence(f *finding) *finding {
	if len(b.tasks) > 1 {
		f.because("%s", list(b.tasks))
	}
	return f
}

// startFails tells the stores on which the application does not start; damaged
// files, segments and global stores have checks of their own.
func startFails(f *facts, r *report) {
	for _, b := range f.grouped(WillFail, func(_ *lyingTask, s *StoreStart) bool { return s.cause == byVersion }) {
		b.evidence(r.problem(subject(b.tasks), "the application does not start: %s", b.why)).
			then("an error while a store is opened ends the application, at every start; nothing is wiped").
			do("start the version that the stores are of").
			do("or restore the tasks for the version that starts: sstool restore --into DIR --target-kafka VERSION, or remove their directories and let the application restore them")
	}
	for _, t := range f.lyingTasks() {
		if t.task.Unread != "" {
			r.problem(f.name(t), "%s", t.task.Unread).
				then("the application does not start: a .checkpoint that cannot be read is an error, not a missing offset").
				do("stop the application, remove the task's directory, and let it be restored: sstool restore --into DIR, or the application itself")
		}
	}
}

// tasksWiped tells wipes for another reason than an offset outside of the log.
func tasksWiped(f *facts, r *report) {
	for _, b := range f.grouped(WillWipe, func(_ *lyingTask, s *StoreStart) bool { return s.cause != byRange && s.cause != byAge }) {
		b.evidence(r.warn(subject(b.tasks), "wiped at the next start: %s", b.why)).
			then("TaskCorruptedException: the task's directory is deleted and every store of it replayed from the log start: %s", b.replay()).
			do("plan for that time, or hand the tasks over with their offsets before the start: sstool restore --into DIR --processing-guarantee exactly_once_v2 --target-kafka VERSION")
	}
}

// fromStart tells stores that have rows and are replayed all the same.
func fromStart(f *facts, r *report) {
	for _, b := range f.grouped(WillRestore, func(t *lyingTask, s *StoreStart) bool {
		return s.cause != byNothing && s.cause != byRange && rowsOf(storeNamed(t, s.Store)) != 0
	}) {
		b.evidence(r.warn(subject(b.tasks), "restored from the log start although rows are here: %s", b.why)).
			then("%s are read, over the rows that are there: a row whose tombstone is compacted away stays", b.replay()).
			do("remove the tasks' directories first if rows must not come back, or restore them beforehand: sstool restore --into DIR")
	}
}

// rowsOf is how many rows a store has; -1 when that is not known.
func rowsOf(s *inspect.MapStore) int64 {
	switch {
	case s == nil:
		return 0
	case s.Keys.Count != nil:
		return *s.Keys.Count
	case s.Entries == 0 && s.LiveSet:
		return 0
	}
	return -1
}
