package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/files"
	"sstool/internal/human"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// globalStores tells global stores with which the application fails at every
// start: nothing wipes them.
func globalStores(f *facts, r *report) {
	for _, will := range []string{WillFail, WillRestore} {
		for _, b := range f.grouped(will, func(t *lyingTask, s *StoreStart) bool {
			return t.global() && s.cause != byFiles && s.cause != byVersion
		}) {
			if will == WillRestore {
				continue
			}
			p := b.evidence(r.problem(subject(b.tasks), "the application does not start: %s", b.why))
			if strings.Contains(b.why, "fails once") {
				p.then("InvalidOffsetException ends the client; with a supervisor the second start restores the store").
					do("remove the store's directory and the lines of its topic before the start")
				continue
			}
			p.then("the process crashes, is started again, and crashes again (KAFKA-21034)")
			for _, t := range f.lyingTasks() {
				for _, s := range t.stores {
					if t.global() && s.Status != nil && *s.Status == "unclean" {
						p.do("remove %s (%s): it is read again from topic %s%s", s.Dir, human.Bytes(s.Size), s.Offsets.Topic, f.replayOf(t, s))
					}
				}
			}
		}
	}
}

// cleanupDelay is state.cleanup.delay.ms without a setting.
const cleanupDelay = 10 * time.Minute

// cleaner tells task directories that Kafka Streams deletes by itself
// (PI/StateDirectory.cleanRemovedTasks, and from 4.3 on at the start: KIP-1259).
func cleaner(f *facts, r *report) {
	v, _ := f.kafka()
	delay, ok := f.millis("state.cleanup.delay.ms")
	if !ok {
		delay = cleanupDelay
	}
	var old []string
	for _, t := range f.lyingTasks() {
		if t.global() || t.changed.IsZero() || t.held || len(t.stores) == 0 {
			continue
		}
		age := f.o.Now.Sub(t.changed)
		if _, maxAge, ok := (next{f: f, v: v}).purged(t); ok {
			r.warn(f.name(t), "deleted at the start: its directory was changed %s ago, and state.cleanup.dir.max.age.ms is %s", human.Duration(age), human.Duration(maxAge)).
				because("%s", t.task.Dir).
				then("the task is replayed from the log start").
				do("that is what the setting is for; if the state is to be kept, start without it, or touch the directory")
			continue
		}
		if f.nobodys(t) != "" {
			r.warn(f.name(t), "%s: no instance gets this task", f.nobodys(t)).
				because("%s", t.task.Dir).
				then("the cleaner deletes the directory %s after the start; Kafka Streams from 4.0 on opens the stores in it at the start before that", human.Duration(delay)).
				do("remove the directory while the application is stopped, or bring its topology back")
			continue
		}
		if age > delay {
			old = append(old, t.task.Task)
		}
	}
	if len(r.findings) > 0 || len(old) == 0 {
		return
	}
	r.ok("", "every task that is assigned here is kept").
		because("state.cleanup.delay.ms is %s: directories of tasks that other instances get are deleted when the directory was not changed for that long: %s", human.Duration(delay), list(old))
}

// nobodys is why no instance is assigned the task, "" when one may be.
func (f *facts) nobodys(t *lyingTask) string {
	id, err := t.id()
	if err != nil {
		return ""
	}
	if f.topology != nil && !strings.Contains(t.task.Task, "__") {
		if !slices.ContainsFunc(f.topology.Subtopologies, func(s topology.Subtopology) bool { return s.ID == id.Subtopology }) {
			return fmt.Sprintf("the topology has no sub-topology %d", id.Subtopology)
		}
	}
	for _, s := range t.stores {
		if s.Cluster != nil && s.Cluster.Partitions != nil && id.Partition >= *s.Cluster.Partitions {
			return fmt.Sprintf("%s has %d partitions", s.Cluster.Topic, *s.Cluster.Partitions)
		}
	}
	return ""
}

// millis is a setting of the application in milliseconds; not ok when it is not
// set.
func (f *facts) millis(name string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(f.config.get(name), 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

// twoHosts compares with the directories of other hosts.
func twoHosts(f *facts, r *report) {
	if len(f.others) == 0 {
		r.unmeasured("", "no directory of another host given (--also)")
		return
	}
	for i, m := range f.others {
		for _, mine := range f.apps() {
			j := slices.IndexFunc(m.Apps, func(a inspect.MapApp) bool { return a.ID == mine.ID })
			if j < 0 {
				continue
			}
			f.compareHosts(r, mine, &m.Apps[j], f.o.Also[i])
		}
	}
}

func (f *facts) compareHosts(r *report, mine, other *inspect.MapApp, path string) {
	if files.Same(mine.Dir, other.Dir) {
		r.problem(mine.ID, "%s and %s are the same directory", mine.Dir, other.Dir).
			then("the second instance does not start while the first holds .lock; on file systems without locks they destroy each other's stores").
			do("give each instance a state.dir of its own")
		return
	}
	if mine.ProcessID != "" && mine.ProcessID == other.ProcessID {
		r.problem(mine.ID, "%s and %s have the same process id: one is a copy of the other", mine.Dir, other.Dir).
			because("%s %s", streams.ProcessFile, mine.ProcessID).
			then("the assignor takes both instances for one, and counts their tasks together").
			do("remove %s from one of them while it is stopped", filepath.Join(other.Dir, streams.ProcessFile))
	}
	var both, behind []string
	for _, t := range mine.Tasks {
		if t.Task == streams.GlobalDir || t.Stores == 0 || !slices.ContainsFunc(other.Tasks, func(o inspect.MapTask) bool { return o.Task == t.Task && o.Stores > 0 }) {
			continue
		}
		both = append(both, t.Task)
		if a, b := offsetSum(mine, t.Task), offsetSum(other, t.Task); a != b {
			behind = append(behind, fmt.Sprintf("%s: offsets here %d, there %d in all", t.Task, a, b))
		}
	}
	if len(both) == 0 {
		r.ok(mine.ID, "no task lies here and under %s", path)
		return
	}
	standby := f.config.get("num.standby.replicas")
	if n, err := strconv.Atoi(standby); err == nil && n > 0 {
		r.ok(mine.ID, "tasks %s lie here and under %s, as standby replicas do", list(both), path)
		return
	}
	p := r.warn(mine.ID, "tasks %s lie here and under %s", list(both), path)
	for _, b := range behind {
		p.because("%s", b)
	}
	p.then("without standby replicas one copy is left over: whichever instance gets the task resumes from its own, and the older one may hold rows that were deleted since").
		do("remove the older copy while that instance is stopped; with standby replicas this is as it should be (--app-config tells)")
}

// offsetSum is what the assignor compares: how far a task's stores have come.
func offsetSum(a *inspect.MapApp, task string) int64 {
	sum := int64(0)
	for i := range a.Stores {
		if s := &a.Stores[i]; s.Task == task {
			for _, o := range s.Offsets.List {
				if o.Offset != nil && *o.Offset > 0 {
					sum += *o.Offset
				}
			}
		}
	}
	return sum
}
