package cmd

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"sstool/internal/op"
)

// memoryValue is a flag that holds a memory budget: 256MiB, 1GB, 64m. The zero
// value is not given; less than minMemory cannot be given.
type memoryValue int64

// minMemory is the least that a replay gets along with.
const minMemory = 16 << 20

func (v *memoryValue) String() string {
	if *v == 0 {
		return ""
	}
	return humanBytes(int64(*v))
}
func (v *memoryValue) Type() string { return "size" }
func (v *memoryValue) expects() string {
	return "a size like 256MiB or 1GB, from " + humanBytes(minMemory) + " on"
}
func (v *memoryValue) Set(s string) (err error) {
	n, err := parseBytes(s)
	if err == nil && n < minMemory {
		err = fmt.Errorf("%q is too little: at least %s is needed", s, humanBytes(minMemory))
	}
	if err == nil {
		*v = memoryValue(n)
	}
	return err
}

// sizeValue is a flag that holds a number of bytes; nothing at all cannot be
// given.
type sizeValue int64

func (v *sizeValue) String() string {
	if *v == 0 {
		return ""
	}
	return humanBytes(int64(*v))
}
func (v *sizeValue) Type() string    { return "size" }
func (v *sizeValue) expects() string { return "a size like 256MiB or 1GB" }
func (v *sizeValue) Set(s string) error {
	n, err := parseBytes(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q is nothing at all", s)
	}
	if err == nil {
		*v = sizeValue(n)
	}
	return err
}

var byteUnits = []struct {
	suffix string
	factor float64
}{ // longest first
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1},
}

// parseBytes reads a size. KB, MB, GB, TB are powers of 1000; KiB, MiB, … and
// the bare letters k, m, g, t powers of 1024.
func parseBytes(s string) (int64, error) {
	bad := fmt.Errorf("%q is not a size like 256MiB or 1GB", s)
	num, factor := strings.ToLower(strings.TrimSpace(s)), 1.0
	for _, u := range byteUnits {
		if strings.HasSuffix(num, u.suffix) {
			num, factor = strings.TrimSpace(strings.TrimSuffix(num, u.suffix)), u.factor
			break
		}
	}
	if num == "" || strings.Trim(num, "0123456789.") != "" {
		return 0, bad
	}
	f, err := strconv.ParseFloat(num, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && f*factor >= math.MaxInt64:
		return 0, fmt.Errorf("%q is too large", s)
	case err != nil || f < 0 || math.IsNaN(f):
		return 0, bad
	}
	return int64(math.Round(f * factor)), nil
}

// durationValue is a flag that holds a duration: Go's syntax plus d for days.
// The zero value is not given; nothing at all cannot be given.
type durationValue time.Duration

func (v *durationValue) String() string {
	if *v == 0 {
		return ""
	}
	return humanDuration(time.Duration(*v))
}
func (v *durationValue) Type() string { return "duration" }
func (v *durationValue) Set(s string) error {
	d, err := parseDuration(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("%q is no time at all", s)
	}
	if err == nil {
		*v = durationValue(d)
	}
	return err
}
func (v *durationValue) expects() string { return "a duration like 90s, 1h30m or 7d" }

// zeroDurationValue is a durationValue that may be nothing at all.
type zeroDurationValue struct{ durationValue }

func (v *zeroDurationValue) Set(s string) error {
	d, err := parseDuration(s)
	if err == nil {
		v.durationValue = durationValue(d)
	}
	return err
}

// parseDuration reads 90s, 1h30m, 7d or 1d12h. Negative durations mean nothing
// here and are refused.
func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration like 90s, 1h30m or 7d", s)
	long := fmt.Errorf("%q is longer than 270 years", s)
	rest, days := strings.TrimSpace(s), 0.0
	if i := strings.IndexByte(rest, 'd'); i >= 0 {
		n, err := strconv.ParseFloat(rest[:i], 64)
		if strings.Trim(rest[:i], "0123456789.") != "" || err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, bad
		}
		if err != nil || n > 100_000 {
			return 0, long
		}
		days, rest = n, rest[i+1:]
	} else if rest == "" {
		return 0, bad
	}
	var d time.Duration
	if rest != "" {
		var err error
		d, err = time.ParseDuration(rest)
		if err != nil && goDuration().MatchString(rest) {
			return 0, long
		}
		if err != nil || d < 0 || strings.HasPrefix(rest, "-") {
			return 0, bad
		}
	}
	extra := time.Duration(days * 24 * float64(time.Hour))
	if d > math.MaxInt64-extra {
		return 0, long
	}
	return d + extra, nil
}

// goDuration is the form of a duration; what has it and is refused is too long.
var goDuration = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+\.?[0-9]*(ns|us|µs|ms|s|m|h))+$`) })

// partitionsValue is a flag that holds a set of partitions: 0,2-5.
type partitionsValue []int32

// maxPartition bounds what a range may expand to; Kafka clusters stay far below.
const maxPartition = 100_000

func (v *partitionsValue) String() string {
	parts := make([]string, len(*v))
	for i, p := range *v {
		parts[i] = strconv.Itoa(int(p))
	}
	return strings.Join(parts, ",")
}
func (v *partitionsValue) Type() string { return "list" }
func (v *partitionsValue) Set(s string) error {
	p, err := parsePartitions(s)
	if err == nil {
		*v = p
	}
	return err
}

// parsePartitions reads a list of partitions and ranges, sorted, each once.
func parsePartitions(s string) ([]int32, error) {
	var out []int32
	for _, part := range strings.Split(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.ParseUint(lo, 10, 32)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(hi, 10, 32)
		}
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%q: no partition is beyond %d", s, maxPartition)
		}
		if err != nil || from > to {
			return nil, fmt.Errorf("%q is not a list of partitions like 0,2-5", s)
		}
		if to > maxPartition {
			return nil, fmt.Errorf("partition %d is beyond %d", to, maxPartition)
		}
		for p := from; p <= to; p++ {
			out = append(out, int32(p))
		}
		if len(out) > 2*maxPartition {
			return nil, errors.New("too many partitions")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// propertiesValue is a flag that holds Java properties, k=v, repeatable. It
// never shows a value, which may be a password; pflag would in its error, so a
// malformed one is kept and reported by parse.
type propertiesValue []string

func (v *propertiesValue) String() string { return "" }
func (v *propertiesValue) Type() string   { return "key=value" }
func (v *propertiesValue) Set(s string) error {
	for line := range strings.Lines(s) { // the environment form holds one a line
		*v = append(*v, strings.TrimSpace(line))
	}
	return nil
}

// parse returns the properties; flag names the flag in the error.
func (v propertiesValue) parse(flag string) (map[string]string, error) {
	out := map[string]string{}
	for i, s := range v {
		key, value, ok := strings.Cut(s, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, op.Errorf(op.Usage, "--%s number %d is not of the form key=value", flag, i+1)
		}
		out[key] = strings.TrimSpace(value)
	}
	return out, nil
}

// numberValue is a flag that holds a whole number, or nothing.
type numberValue struct {
	n        int64
	set      bool
	min, max int64 // max 0: as large as a number gets
}

func (v *numberValue) String() string {
	if !v.set {
		return ""
	}
	return strconv.FormatInt(v.n, 10)
}
func (v *numberValue) Type() string    { return "number" }
func (v *numberValue) expects() string { return fmt.Sprintf("a whole number from %d on", v.min) }
func (v *numberValue) Set(s string) error {
	n, err := parseNumber(s, v.min, v.max)
	if err == nil {
		v.n, v.set = n, true
	}
	return err
}

// or is the number, or what stands for nothing.
func (v numberValue) or(none int64) int64 {
	if !v.set {
		return none
	}
	return v.n
}

// parseNumber reads a whole number between least and most; most 0 is no bound.
func parseNumber(s string, least, most int64) (int64, error) {
	if most == 0 {
		most = math.MaxInt64
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-"), err == nil && n > most:
		return 0, fmt.Errorf("%q is larger than %d", s, most)
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not a whole number", s)
	case err != nil || n < least:
		return 0, fmt.Errorf("counts from %d, not %s", least, s)
	}
	return n, nil
}

// numbersValue is a flag that holds numbers from 1 on, separated by commas.
type numbersValue []int

func (v *numbersValue) String() string {
	var parts []string
	for _, n := range *v {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ",")
}
func (v *numbersValue) Type() string    { return "list" }
func (v *numbersValue) expects() string { return "numbers from 1 on, like 1,2,4" }
func (v *numbersValue) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		n, err := parseNumber(strings.TrimSpace(part), 1, maxPartition)
		if err != nil {
			return err
		}
		*v = append(*v, int(n))
	}
	return nil
}

// namesValue is a flag that holds names separated by commas, repeatable.
type namesValue []string

func (v *namesValue) String() string  { return strings.Join(*v, ",") }
func (v *namesValue) Type() string    { return "list" }
func (v *namesValue) expects() string { return "names separated by commas" }
func (v *namesValue) Set(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("a name has no control characters")
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return fmt.Errorf("%q has an empty name", s)
		}
		*v = append(*v, name)
	}
	return nil
}

// choiceValue is a flag that holds one of a few words, or nothing.
type choiceValue struct {
	value   string
	choices []string
}

func (v *choiceValue) String() string  { return v.value }
func (v *choiceValue) Type() string    { return "choice" }
func (v *choiceValue) expects() string { return strings.Join(v.choices, "|") }
func (v *choiceValue) Set(s string) error {
	if !slices.Contains(v.choices, s) {
		return fmt.Errorf("%q is not one of %s", s, v.expects())
	}
	v.value = s
	return nil
}
