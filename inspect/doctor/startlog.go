package doctor

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sstool/internal/human"
)

// LastStart is where the time of the application's last start went, as its log
// tells. Phases follow each other and add up to the total.
type LastStart struct {
	Log   string `json:"log"`
	Kafka string `json:"kafka_version"` // "" when the log does not tell
	// Guarantee is processing.guarantee as StreamsConfig logged it; "" when the
	// log does not tell.
	Guarantee string       `json:"processing_guarantee"`
	Began     time.Time    `json:"began"`         // as written: without a zone, UTC stands for the application's
	Total     *float64     `json:"total_seconds"` // null: it does not run yet
	Phases    []StartPhase `json:"phases"`
	Slowest   []StartStore `json:"slowest_restores"` // at most ten
	Starts    int          `json:"starts_in_log"`
	Errors    []string     `json:"errors"` // the last ones since the start, at most five
}

// StartPhase is one part of the time.
type StartPhase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Records *int64  `json:"records"` // that were restored; null for other phases
	Stores  int     `json:"stores"`  // that were opened or restored
}

// StartStore is one changelog partition that was restored.
type StartStore struct {
	Changelog string  `json:"changelog"`
	Store     string  `json:"store"`
	Records   int64   `json:"records"`
	At        float64 `json:"finished_seconds"` // after the start
}

// The phases.
const (
	phaseOpen    = "open stores"
	phaseWait    = "wait for assignment"
	phaseRestore = "restore"
	phaseBoth    = "open and restore" // stores are opened one by one while others are restored
)

// What the log says: the messages of KafkaStreams, StreamThread, TaskManager,
// StreamTask, ProcessorStateManager and StoreChangelogReader.
var (
	logBegins    = regexp.MustCompile(`stream-client \[[^\]]*\] State transition from CREATED to REBALANCING`)
	logRuns      = regexp.MustCompile(`stream-client \[[^\]]*\] State transition from REBALANCING to RUNNING`)
	logThreadUp  = regexp.MustCompile(`stream-thread \[[^\]]*\] State transition from STARTING to PARTITIONS_ASSIGNED|stream-thread \[[^\]]*\] Handle new assignment with`)
	logOpens     = regexp.MustCompile(`State store (\S+) (?:did not find checkpoint offset|initialized from checkpoint with offset|is not (?:persistent|logged))|Opening store \S+`)
	logTask      = regexp.MustCompile(`task \[\d+_\d+\] (?:Initialized|Created state store|Restored and ready to run)`)
	logRestored  = regexp.MustCompile(`Finished restoring changelog (\S+) to store (\S+) with a total number of (\d+) records`)
	logVersion   = regexp.MustCompile(`Kafka Streams version: (\d[\w.\-]*)`)
	logGuarantee = regexp.MustCompile(`(?m)^\s*processing\.guarantee = (at_least_once|exactly_once\w*)\s*$`)
	logError     = regexp.MustCompile(`\b(?:ERROR|FATAL)\b|TaskCorruptedException|LockException`)
)

// maxLogLine bounds a line; what is longer is cut.
const maxLogLine = 1 << 20

// startReader gathers what the lines of the last start say.
type startReader struct {
	day       time.Duration // added to times without a date
	last      time.Time
	s         *LastStart
	open      []time.Time
	assign    time.Time
	runs      time.Time
	stores    map[string]bool
	kafka     string
	guarantee string
}

// readStart reads an application's log; nil when it has no start.
func readStart(name string, in io.Reader) (*LastStart, error) {
	r := &startReader{stores: map[string]bool{}}
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			r.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if r.s == nil {
		return nil, nil
	}
	r.s.Log, r.s.Kafka, r.s.Guarantee = name, r.kafka, r.guarantee
	r.finish()
	return r.s, nil
}

// readLine is the next line without its end, cut to maxLogLine.
func readLine(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, more, err := in.ReadLine()
		if room := maxLogLine - len(out); room > 0 {
			out = append(out, part[:min(len(part), room)]...)
		}
		if err != nil || !more {
			return out, err
		}
	}
}

func (r *startReader) line(line []byte) {
	at, text, ok := jsonLine(line)
	if !ok {
		var clock bool
		text = string(line)
		if at, clock, ok = lineTime(line); ok && clock {
			if at = at.Add(r.day); at.Before(r.last) && r.last.Sub(at) > 12*time.Hour {
				r.day += 24 * time.Hour
				at = at.Add(24 * time.Hour)
			}
		}
	}
	if !ok {
		at = r.last
	}
	if y := at.Year(); at.IsZero() || y > 2200 || y > 1 && y < 1970 {
		return
	}
	if r.s != nil && at.Before(r.last) && !logBegins.MatchString(text) {
		at = r.last // the clock was set back
	}
	r.last = at
	if m := logVersion.FindStringSubmatch(text); m != nil {
		r.kafka = m[1]
	}
	if m := logGuarantee.FindStringSubmatch(text); m != nil {
		r.guarantee = m[1]
	}
	if logBegins.MatchString(text) {
		starts := 1
		if r.s != nil {
			starts = r.s.Starts + 1
		}
		r.s = &LastStart{Began: at, Starts: starts, Phases: []StartPhase{}, Slowest: []StartStore{}, Errors: []string{}}
		r.open, r.assign, r.runs, r.stores = nil, time.Time{}, time.Time{}, map[string]bool{}
		return
	}
	if r.s == nil || !r.runs.IsZero() {
		return
	}
	switch m := logOpens.FindStringSubmatch(text); {
	case m != nil:
		r.open = append(r.open, at)
		if m[1] != "" {
			r.stores[storeOfTask(text)+m[1]] = true
		}
	case logTask.MatchString(text):
		r.open = append(r.open, at)
	case logThreadUp.MatchString(text):
		if r.assign.IsZero() {
			r.assign = at
		}
	case logRuns.MatchString(text):
		r.runs = at
	case logError.MatchString(text):
		if r.s.Errors = append(r.s.Errors, human.Shorten(strings.TrimSpace(text), 300)); len(r.s.Errors) > 5 {
			r.s.Errors = r.s.Errors[1:]
		}
	default:
		if m := logRestored.FindStringSubmatch(text); m != nil {
			n, _ := strconv.ParseInt(m[3], 10, 64)
			r.s.Slowest = append(r.s.Slowest, StartStore{m[1], m[2], n, at.Sub(r.s.Began).Seconds()})
		}
	}
}

// storeOfTask is "0_1/" of a line about a task.
func storeOfTask(text string) string {
	if _, rest, ok := strings.Cut(text, "task ["); ok {
		if task, _, ok := strings.Cut(rest, "]"); ok {
			return task + "/"
		}
	}
	return ""
}

// finish cuts the time into phases: stores that are opened before the
// assignment, as newer versions do at the start, the wait for it, and what
// follows until the application runs.
func (r *startReader) finish() {
	s, begin := r.s, r.s.Began
	end := r.last
	if !r.runs.IsZero() {
		end = r.runs
		total := end.Sub(begin).Seconds()
		s.Total = &total
	}
	assign := r.assign
	if assign.IsZero() {
		assign = end
	}
	opened := begin
	for _, at := range r.open {
		if at.After(opened) && !at.After(assign) {
			opened = at
		}
	}
	records := int64(0)
	for _, x := range s.Slowest {
		records += x.Records
	}
	s.Phases = append(s.Phases, StartPhase{Name: phaseOpen, Seconds: opened.Sub(begin).Seconds(), Stores: len(r.stores)})
	s.Phases = append(s.Phases, StartPhase{Name: phaseWait, Seconds: assign.Sub(opened).Seconds()})
	if !r.assign.IsZero() {
		last := phaseRestore
		if opened.Equal(begin) && len(r.open) > 0 {
			last, s.Phases[0].Stores = phaseBoth, 0
		}
		s.Phases = append(s.Phases, StartPhase{Name: last, Seconds: end.Sub(assign).Seconds(), Records: &records, Stores: len(s.Slowest)})
	}
	slices.SortStableFunc(s.Slowest, func(a, b StartStore) int { return cmp.Compare(b.Records, a.Records) })
	s.Slowest = s.Slowest[:min(10, len(s.Slowest))]
}

// Timeline is the start in one line: "open stores 5s · wait for assignment
// 1m33s · restore 2.1s (38,220 records)".
func (s *LastStart) Timeline() string {
	var parts []string
	for _, p := range s.Phases {
		text := fmt.Sprintf("%s %s", p.Name, human.Duration(time.Duration(p.Seconds*float64(time.Second))))
		if p.Records != nil {
			text += fmt.Sprintf(" (%s records)", human.Count(*p.Records))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " · ")
}

// startChecks are about the last start.
func startChecks() []Check {
	return []Check{{ID: "start.timeline", Area: AreaStart, Title: "where the time of the last start went", needs: []need{needsLog}, run: lastStart}}
}

// slowStart is how long a phase may take before it is pointed out.
const slowStart = time.Minute

func lastStart(f *facts, r *report) {
	s := f.log
	if f.logErr != nil {
		r.unmeasured("", "%v", f.logErr)
		return
	}
	if s == nil {
		r.unmeasured("", "the log has no start: no line \"State transition from CREATED to REBALANCING\" of org.apache.kafka.streams (level INFO)")
		return
	}
	worst := s.Phases[0]
	for _, p := range s.Phases {
		if p.Seconds > worst.Seconds {
			worst = p
		}
	}
	details := func(x *finding) {
		x.because("began %s, %d starts in the log", s.Began.Format("2006-01-02 15:04:05"), s.Starts)
		for i, st := range s.Slowest {
			if i < 5 && st.Records > 0 {
				x.because("%s: %s records, finished after %s", st.Changelog, human.Count(st.Records), human.Duration(time.Duration(st.At*float64(time.Second))))
			}
		}
		for _, e := range s.Errors {
			x.because("%s", e)
		}
	}
	if s.Total == nil {
		x := r.warn("", "the last start has not come to RUNNING in this log: %s", s.Timeline())
		details(x)
		x.then("nothing is processed by this instance until then").do("look at what it does last, and at the errors since the start")
		return
	}
	if time.Duration(worst.Seconds*float64(time.Second)) < slowStart {
		details(r.ok("", "%s", s.Timeline()))
		return
	}
	x := r.warn("", "%s", s.Timeline())
	details(x)
	x.then("the instance processes nothing for that long at each start")
	switch worst.Name {
	case phaseOpen:
		x.do("many or damaged databases: sstool inspect levels and sstool inspect PATH; close the application cleanly so that RocksDB has nothing to recover")
	case phaseWait:
		x.do("the restore is not the cause: the group waits. session.timeout.ms of an instance that died without leaving, rebalances that follow each other (group.instance.id, longer max.poll.interval.ms), or a coordinator that is slow")
	default:
		x.do("sstool restore --measure finds the bottleneck; standby replicas and volumes that last spare the restore")
	}
}
