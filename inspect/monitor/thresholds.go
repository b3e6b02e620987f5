package monitor

import (
	"path"
	"slices"
	"time"

	"sstool/internal/op"
)

// Off is the severity of a check that is not made at all. The others are
// op.Attention and op.Wrong: what it is worth when the threshold is missed.
const Off op.Status = "off"

// Threshold is what a check holds values against. A check uses one of: Min,
// Max, or the growth within a window.
type Threshold struct {
	Severity op.Status     `json:"severity"`
	Min      *float64      `json:"min,omitempty"`
	Max      *float64      `json:"max,omitempty"`
	Window   time.Duration `json:"window_ns,omitempty"`
	// Growth is the share of what was there at the window's beginning; what
	// is below Floor at its end may grow as it likes.
	Growth *float64 `json:"growth,omitempty"`
	Floor  *float64 `json:"floor,omitempty"`
}

// Override changes checks for the stores whose names match.
type Override struct {
	Store  string                `json:"store"` // a pattern: * stands for any text
	TTL    bool                  `json:"ttl"`   // rows leave by age: their number may grow
	Checks map[CheckID]Threshold `json:"checks"`
}

// Thresholds are all thresholds.
type Thresholds struct {
	Checks map[CheckID]Threshold `json:"checks"`
	Stores []Override            `json:"stores"`
}

// Defaults are the thresholds of the monitoring checklist.
func Defaults() Thresholds {
	t := Thresholds{Checks: map[CheckID]Threshold{}, Stores: []Override{}}
	for _, c := range Checks() {
		t.Checks[c.ID] = c.Default
	}
	return t
}

// of is the threshold of a check for a subject: the last override that matches
// wins.
func (t *Thresholds) of(c *Check, s Subject) Threshold {
	th := t.Checks[c.ID]
	for _, o := range t.Stores {
		if ok, _ := path.Match(o.Store, s.Store); !ok || s.Store == "" {
			continue
		}
		if own, ok := o.Checks[c.ID]; ok {
			th = own
		}
		if o.TTL && c.ID == EstimatedKeys {
			th.Severity = Off
		}
	}
	return th
}

// Longest is the longest window: how far back a history must reach.
func (t *Thresholds) Longest() time.Duration {
	var out time.Duration
	for _, th := range t.Checks {
		out = max(out, th.Window)
	}
	for _, o := range t.Stores {
		for _, th := range o.Checks {
			out = max(out, th.Window)
		}
	}
	return out
}

// ValidPattern says whether a pattern of store names can be used.
func ValidPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil
}

// CheckNamed is the check of an id, nil when there is none.
func CheckNamed(id CheckID) *Check {
	all := Checks()
	if i := slices.IndexFunc(all, func(c Check) bool { return c.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Settings are the settings that a check's threshold has besides its severity.
func (c *Check) Settings() []string {
	switch c.rule {
	case atLeast:
		return []string{"min"}
	case noGrowth:
		return []string{"window", "growth", "floor"}
	}
	return []string{"max"}
}

// Minimum says whether the check's values must be large, not small.
func (c *Check) Minimum() bool { return c.rule == atLeast }

// About says what a check looks at, and why.
func (c *Check) About() string {
	level := ""
	for _, m := range metrics() {
		if m.name == c.Metric && m.debug {
			level = ", which needs metrics.recording.level=DEBUG"
		}
	}
	return c.Title + " (" + string(c.Metric) + level + "): " + c.why
}
