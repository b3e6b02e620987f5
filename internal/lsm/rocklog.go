package lsm

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// LogSummary is what RocksDB's own LOG says: the messages since the database
// was opened last. Kafka Streams lets RocksDB write errors only, so that the
// file is mostly empty there and every figure zero. Times are as written: the
// local time of the writing process.
type LogSummary struct {
	File       string // full path
	Size       int64
	Skipped    int64  // bytes in the middle of a large file that were not read; figures are lower bounds then
	Version    string // of the RocksDB that wrote it; "" when it does not say
	SessionID  string
	First      string // "2026/01/31-23:59:59.123456", time of the first line
	Last       string
	Errors     []LogLine // the last ones, oldest first
	ErrorCount int       // lines that are errors
	Warnings   int       // lines that are warnings, those about stalls included
	Stalls     LogStalls
	Flushes    int
	Compacted  LogCompactions
}

// LogLine is one message.
type LogLine struct {
	Time, Level, Text string
}

// LogStalls is how writers were held back.
type LogStalls struct {
	Delays, Stops int           // messages that say so
	Last          []LogLine     // the last ones, oldest first
	Time          time.Duration // since the database was opened, as of the last statistics in the file
	Percent       float64       // of the time it was open
}

// LogCompactions sums the compactions that finished.
type LogCompactions struct {
	Count                       int
	Time                        time.Duration
	InputRecords, OutputRecords int64
	OutputBytes                 int64
}

const (
	logHead  = 256 << 10 // the header with all options is some 40 KiB
	logTail  = 4 << 20
	logLines = 20   // errors and stalls that are kept
	maxText  = 2000 // bytes kept of a line
)

// ReadLog reads the LOG of the database: its beginning and its end, when it is
// large. A missing file is op.NotFound. Older files (LOG.old.*) are not read.
func (d *DB) ReadLog() (LogSummary, error) {
	path := filepath.Join(d.Dir, "LOG")
	s := LogSummary{File: path, Errors: []LogLine{}, Stalls: LogStalls{Last: []LogLine{}}}
	f, size, err := openFile(path)
	if err != nil {
		return s, ioError("read LOG", err)
	}
	defer f.Close()
	s.Size = size
	read := func(from, n int64) ([]byte, error) {
		b := make([]byte, n)
		got, err := f.ReadAt(b, from)
		if int64(got) == n {
			err = nil
		}
		return b[:got], err
	}
	if size <= logHead+logTail {
		b, err := read(0, size)
		s.parse(b)
		return s, logError(err)
	}
	s.Skipped = size - logHead - logTail
	b, err := read(0, logHead)
	if err == nil {
		s.parse(b)
		b, err = read(size-logTail, logTail)
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:] // the line that was cut
		}
		s.parse(b)
	}
	return s, logError(err)
}

func logError(err error) error {
	if err == nil {
		return nil
	}
	return ioError("read LOG", err)
}

// parse adds the lines of b. Whatever is not understood is passed over: the
// format is for people and has no specification.
func (s *LogSummary) parse(b []byte) {
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		s.line(string(line[:min(len(line), maxText)]))
	}
}

// line reads one line: "<time> <thread> [LEVEL] [file:line] text", or one of a
// table of statistics.
func (s *LogSummary) line(line string) {
	at, rest, ok := strings.Cut(line, " ")
	if !ok || !isLogTime(at) {
		s.statistic(line)
		return
	}
	if s.First == "" {
		s.First = at
	}
	s.Last = at
	_, text, _ := strings.Cut(rest, " ") // the thread's number
	if after, ok := strings.CutPrefix(text, "(Original Log Time "); ok {
		_, text, _ = strings.Cut(after, ") ")
	}
	if v, ok := strings.CutPrefix(text, "RocksDB version: "); ok {
		s.Version = v
		return
	}
	if v, ok := strings.CutPrefix(strings.TrimSpace(text), "DB Session ID:"); ok {
		s.SessionID = strings.TrimSpace(v)
		return
	}
	if event, ok := strings.CutPrefix(text, "EVENT_LOG_v1 "); ok {
		s.event(event)
		return
	}
	level, ok := strings.CutPrefix(text, "[")
	if !ok {
		return
	}
	if level, text, ok = strings.Cut(level, "] "); !ok {
		return
	}
	l := LogLine{at, level, text}
	switch level {
	case "ERROR", "FATAL":
		s.ErrorCount++
		s.Errors = keepLast(s.Errors, l)
	case "WARN":
		s.Warnings++
		// column_family.cc:RecalculateWriteStallConditions
		switch {
		case strings.Contains(text, "Stopping writes because"):
			s.Stalls.Stops++
			s.Stalls.Last = keepLast(s.Stalls.Last, l)
		case strings.Contains(text, "Stalling writes because"):
			s.Stalls.Delays++
			s.Stalls.Last = keepLast(s.Stalls.Last, l)
		}
	}
}

func keepLast(list []LogLine, l LogLine) []LogLine {
	if len(list) == logLines {
		copy(list, list[1:])
		list = list[:logLines-1]
	}
	return append(list, l)
}

// isLogTime recognises "2026/01/31-23:59:59.123456".
func isLogTime(s string) bool {
	const like = "0000/00/00-00:00:00.000000"
	if len(s) != len(like) {
		return false
	}
	for i := range s {
		if like[i] == '0' && (s[i] < '0' || s[i] > '9') || like[i] != '0' && s[i] != like[i] {
			return false
		}
	}
	return true
}

// event reads one of the messages that are JSON (logging/event_logger.h).
func (s *LogSummary) event(text string) {
	var e struct {
		Event   string `json:"event"`
		Micros  int64  `json:"compaction_time_micros"`
		Bytes   int64  `json:"total_output_size"`
		Input   int64  `json:"num_input_records"`
		Outputs int64  `json:"num_output_records"`
	}
	if json.Unmarshal([]byte(text), &e) != nil {
		return
	}
	switch e.Event {
	case "flush_finished":
		s.Flushes++
	case "compaction_finished":
		c := &s.Compacted
		c.Count++
		c.Time += time.Duration(e.Micros) * time.Microsecond
		c.OutputBytes += e.Bytes
		c.InputRecords += e.Input
		c.OutputRecords += e.Outputs
	}
}

// statistic reads a line of the statistics that are dumped every ten minutes
// (db/internal_stats.cc): "Cumulative stall: 00:00:2.600 H:M:S, 86.5 percent".
func (s *LogSummary) statistic(line string) {
	rest, ok := strings.CutPrefix(line, "Cumulative stall: ")
	if !ok {
		return
	}
	clock, share, ok := strings.Cut(rest, " H:M:S, ")
	if !ok {
		return
	}
	d, ok := clockTime(clock)
	if !ok {
		return
	}
	s.Stalls.Time = d
	if p, err := strconv.ParseFloat(strings.TrimSuffix(share, " percent"), 64); err == nil && p >= 0 && p <= 100 {
		s.Stalls.Percent = p
	}
}

// clockTime reads hours:minutes:seconds.
func clockTime(s string) (time.Duration, bool) {
	p := strings.Split(s, ":")
	if len(p) != 3 {
		return 0, false
	}
	h, err1 := strconv.ParseUint(p[0], 10, 20)
	m, err2 := strconv.ParseUint(p[1], 10, 20)
	sec, err3 := strconv.ParseFloat(p[2], 64)
	if err1 != nil || err2 != nil || err3 != nil || !(sec >= 0 && sec < 1e6) {
		return 0, false
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec*float64(time.Second)), true
}
