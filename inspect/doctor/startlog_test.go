package doctor

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sstool/internal/op"
)

// layouts are how the usual patterns write one message.
func layouts() map[string]func(at time.Time, level, class, text string) string {
	return map[string]func(time.Time, string, string, string) string{
		"Kafka's log4j": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf("[%s] %s %s (%s)", at.Format("2006-01-02 15:04:05,000"), level, text, class)
		},
		"logback": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf("%s [main] %-5s %s - %s", at.Format("15:04:05.000"), level, class, text)
		},
		"Spring Boot": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf("%s %5s 1 --- [-StreamThread-1] %-40s : %s", at.Format("2006-01-02T15:04:05.000")+"+02:00", level, class, text)
		},
		"slf4j-simple": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf("%s [main] %s %s - %s", at.Format("2006-01-02 15:04:05,000"), level, class, text)
		},
		"logstash": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf(`{"@timestamp":%q,"@version":"1","message":%q,"logger_name":%q,"level":%q}`, at.Format("2006-01-02T15:04:05.000Z"), text, class, level)
		},
		"log4j2's JSON": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf(`{"instant":{"epochSecond":%d,"nanoOfSecond":%d},"level":%q,"message":%q}`, at.Unix(), at.Nanosecond(), level, text)
		},
		"milliseconds": func(at time.Time, level, class, text string) string {
			return fmt.Sprintf(`{"timestamp":%d,"level":%q,"msg":%q}`, at.UnixMilli(), level, text)
		},
	}
}

// TestTimeline is a start whose restore is not what took the time
// (littlehorse#2446), after another one, in every layout and over midnight.
func TestTimeline(t *testing.T) {
	type line struct {
		at   float64
		text string
	}
	lines := []line{
		{-500, "stream-client [app-1] State transition from CREATED to REBALANCING"},
		{-400, "stream-client [app-1] State transition from REBALANCING to RUNNING"},
		{-10, "stream-client [app-1] State transition from RUNNING to PENDING_SHUTDOWN"},
		{0, "stream-client [app-2] State transition from CREATED to REBALANCING"},
		{1, "stream-thread [app-2-StreamThread-1] task [0_0] State store core initialized from checkpoint with offset 3203621773 at changelog app-core-changelog-0"},
		{5, "stream-thread [app-2-StreamThread-1] task [0_1] State store core did not find checkpoint offset, hence would default to the starting offset at changelog app-core-changelog-1"},
		{98, "stream-thread [app-2-StreamThread-1] State transition from STARTING to PARTITIONS_ASSIGNED"},
		{99, "stream-thread [app-2-StateUpdater-1] Finished restoring changelog app-core-changelog-0 to store core with a total number of 38220 records"},
		{100.1, "stream-client [app-2] State transition from REBALANCING to RUNNING"},
		{200, "stream-thread [app-2-StreamThread-1] task [0_1] Initialized"},
	}
	const timeline = "open stores 5s · wait for assignment 1m33s · restore 2.1s (38,220 records)"
	begin := time.Date(2026, 1, 31, 23, 59, 30, 0, time.UTC)
	for name, layout := range layouts() {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, l := range lines {
				b.WriteString(layout(begin.Add(time.Duration(l.at*1000)*time.Millisecond), "INFO", "o.a.k.s.KafkaStreams", l.text) + "\n\tat a.stack.Trace(X.java:1)\r\n")
			}
			s, err := readStart("x.log", strings.NewReader(b.String()))
			if err != nil || s == nil {
				t.Fatal(err)
			}
			if s.Timeline() != timeline || s.Starts != 2 || s.Phases[0].Stores != 2 || s.Total == nil || *s.Total != 100.1 {
				t.Errorf("%s (%+v), want %s", s.Timeline(), s, timeline)
			}
			told := run(t, Options{Log: strings.NewReader(b.String()), LogName: "x.log", Only: []string{"start.timeline"}})
			want(t, told, "start.timeline", op.Attention, timeline, "the restore is not the cause")
		})
	}
}

func TestLogWithoutStart(t *testing.T) {
	for _, text := range []string{"", "\n\n", "hello\n", "{\n", "2026-01-31 10:00:00 INFO stream-thread [a] State transition from STARTING to PARTITIONS_ASSIGNED\n"} {
		if s, err := readStart("x", strings.NewReader(text)); s != nil || err != nil {
			t.Errorf("%q: %+v %v", text, s, err)
		}
	}
	s, err := readStart("x", strings.NewReader("2026-01-31 10:00:00 INFO stream-client [a] State transition from CREATED to REBALANCING\n2026-01-31 10:00:30 ERROR stream-thread [b] java.lang.IllegalStateException: no\n"))
	if err != nil || s.Total != nil || len(s.Errors) != 1 || s.Phases[1].Seconds != 30 {
		t.Errorf("%+v %v", s, err)
	}
}

func FuzzReadStart(f *testing.F) {
	at := time.Date(2026, 1, 31, 23, 59, 30, 0, time.UTC)
	for _, layout := range layouts() {
		f.Add(layout(at, "INFO", "x", "stream-client [a] State transition from CREATED to REBALANCING") + "\n" +
			layout(at.Add(time.Second), "INFO", "x", "Finished restoring changelog a-1 to store s with a total number of 9 records"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := readStart("x", strings.NewReader(text))
		if err != nil || s == nil {
			return
		}
		sum := 0.0
		for _, p := range s.Phases {
			sum += p.Seconds
		}
		if d := sum; s.Total != nil && (d-*s.Total > 1e-3 || *s.Total-d > 1e-3) {
			t.Errorf("%v of %v: %q", sum, *s.Total, text)
		}
		_ = s.Timeline()
	})
}

// TestRealLogs reads what real applications logged at level INFO (log4j's and
// slf4j's messages of Kafka Streams, made by worldtest's Logged), with the client's
// random id taken out.
func TestRealLogs(t *testing.T) {
	for file, want := range map[string]string{
		"3.9.2-restore": "open stores 0s · wait for assignment 2.59s · open and restore 12.13s (9,289 records)",
		"4.0.2-resume":  "open stores 0s · wait for assignment 4.69s · open and restore 8.41s (891 records)",
		"4.4.0-resume":  "open stores 1.71s · wait for assignment 287ms · restore 2.13s (891 records)",
	} {
		b, err := os.ReadFile("testdata/logs/" + file + ".log")
		if err != nil {
			t.Fatal(err)
		}
		s, err := readStart(file, bytes.NewReader(b))
		if err != nil || s == nil {
			t.Fatal(file, err)
		}
		version, _, _ := strings.Cut(file, "-")
		if s.Timeline() != want || s.Kafka != version || len(s.Errors) > 0 || s.Starts != 1 {
			t.Errorf("%s: %s, Kafka %s, errors %q; want %s", file, s.Timeline(), s.Kafka, s.Errors, want)
		}
	}
}
