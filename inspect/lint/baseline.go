package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sstool/internal/op"
)

// Baseline is a list of accepted findings, a JSON file that is kept beside the
// code. Only the fingerprint counts; the rest is for people who read a diff.
type Baseline struct {
	Kind     string     `json:"kind"` // "lint.baseline"
	Version  int        `json:"version"`
	Findings []Accepted `json:"findings"`
}

// Accepted is a finding of a baseline.
type Accepted struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	App         string `json:"application_id"`
	Subject     string `json:"subject"`
	Message     string `json:"message"`
}

const baselineKind = "lint.baseline"

// ReadBaseline reads a baseline; what is none is op.Usage.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, op.Errorf(op.Failed, "read baseline %s: %w", name, err)
	}
	bad := func(format string, args ...any) error {
		return (&op.Error{Kind: op.Usage, What: "baseline " + name, Err: fmt.Errorf(format, args...)}).
			WithTry("sstool lint … --write-baseline %s writes one", name)
	}
	if len(b) > maxBaseline {
		return nil, bad("longer than %d MiB", maxBaseline>>20)
	}
	var out Baseline
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return nil, bad("not a baseline: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if out.Kind != baselineKind || out.Version != 1 {
		return nil, bad("kind %q version %d, expected %q version 1", out.Kind, out.Version, baselineKind)
	}
	for i, f := range out.Findings {
		if f.Fingerprint == "" {
			return nil, bad("finding %d has no fingerprint", i+1)
		}
	}
	return &out, nil
}

const maxBaseline = 64 << 20

// NewBaseline accepts the findings of a result, and keeps those that the
// baseline it was made with accepted and that are still there.
func NewBaseline(res *Result) *Baseline {
	out := &Baseline{Kind: baselineKind, Version: 1, Findings: []Accepted{}}
	add := func(f Finding) {
		out.Findings = append(out.Findings, Accepted{f.Fingerprint, f.Rule, f.App, f.Subject, f.Message})
	}
	for _, f := range res.Findings {
		add(f)
	}
	for _, s := range res.Suppressed {
		if s.By == byBaseline {
			add(s.Finding)
		}
	}
	slices.SortFunc(out.Findings, func(a, b Accepted) int {
		return strings.Compare(a.App+"\x00"+a.Rule+"\x00"+a.Subject+a.Fingerprint, b.App+"\x00"+b.Rule+"\x00"+b.Subject+b.Fingerprint)
	})
	return out
}

// Write writes the baseline as a diff shows it well: sorted, a finding a block.
func (b *Baseline) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(b)
}
