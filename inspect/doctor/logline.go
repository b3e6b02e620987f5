package doctor

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// logTime finds the time of a line: with a date, or of the day alone, as the
// usual patterns of log4j, logback, Spring Boot and slf4j-simple write it.
var logTime = regexp.MustCompile(`(\d{4}[-/]\d\d[-/]\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,:](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d)?|(?:^|[\s\[])(\d\d:\d\d:\d\d)(?:[.,:](\d{1,9}))?(?:[\s\]]|$)`)

// headOf is how far into a line its time may begin.
const headOf = 80

// lineTime is a line's time; a line of a stack trace has none. clock says that
// there was no date.
func lineTime(line []byte) (at time.Time, clock, ok bool) {
	head := line[:min(len(line), headOf)]
	m := logTime.FindSubmatch(head)
	if m == nil {
		return time.Time{}, false, false
	}
	date, day, frac, zone := string(m[1]), string(m[2]), string(m[3]), string(m[4])
	if date == "" {
		clock, date, day, frac = true, "0001-01-01", string(m[5]), string(m[6])
	}
	layout, text := "2006-01-02 15:04:05", strings.ReplaceAll(date, "/", "-")+" "+day
	if frac != "" {
		layout, text = layout+"."+strings.Repeat("0", len(frac)), text+"."+frac
	}
	switch {
	case zone == "Z":
		layout, text = layout+"Z07:00", text+"Z"
	case len(zone) == 6:
		layout, text = layout+"-07:00", text+zone
	case zone != "":
		layout, text = layout+"-0700", text+zone
	}
	at, err := time.Parse(layout, text)
	return at, clock, err == nil
}

// jsonLine takes a line of JSON apart: the layouts of logback's and log4j2's
// encoders, of ECS and of GELF.
func jsonLine(line []byte) (at time.Time, text string, ok bool) {
	if !bytes.HasPrefix(line, []byte("{")) {
		return at, "", false
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(line, &doc) != nil {
		return at, "", false
	}
	for _, key := range []string{"message", "msg", "short_message", "log"} {
		if json.Unmarshal(doc[key], &text) == nil && text != "" {
			break
		}
	}
	if text == "" {
		return at, "", false
	}
	var instant struct {
		Second int64 `json:"epochSecond"`
		Nano   int64 `json:"nanoOfSecond"`
	}
	if json.Unmarshal(doc["instant"], &instant) == nil && instant.Second > 0 {
		return time.Unix(instant.Second, instant.Nano).UTC(), text, true
	}
	for _, key := range []string{"@timestamp", "timestamp", "time", "ts", "timeMillis", "date"} {
		raw := doc[key]
		var s string
		if json.Unmarshal(raw, &s) == nil {
			if t, _, ok := lineTime([]byte(s)); ok {
				return t, text, true
			}
			raw = json.RawMessage(s)
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		switch {
		case err != nil || n < 1e9 || n > 1e16:
		case n > 1e11:
			return time.UnixMilli(int64(n)).UTC(), text, true
		default:
			return time.Unix(0, int64(n*1e9)).UTC(), text, true
		}
	}
	return at, text, false
}
