package lint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sstool/internal/topology"
)

// Lint judges the inputs. It reads nothing: the error is ctx's.
func Lint(ctx context.Context, o Options) (*Result, error) {
	r := &run{o: &o, rules: map[string]Rule{}}
	if r.o.Now.IsZero() {
		r.o.Now = time.Now()
	}
	for _, rule := range Rules() {
		r.rules[rule.ID] = rule
	}
	for i := range o.Inputs {
		in := &o.Inputs[i]
		for j := range in.Topologies {
			v := newView(in, &in.Topologies[j])
			var prefixes []string
			if in.Config != nil {
				prefixes = in.Config.Prefixes
			}
			v.suggest(prefixes)
			r.views = append(r.views, v)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	res := &Result{}
	r.check(func() {
		for _, v := range r.views {
			if l, ok := v.fixList(); ok {
				res.Fixes = append(res.Fixes, l)
			}
		}
		res.Applications = r.applications()
		res.Unchecked = r.unchecked()
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.settle(res)
	return res, nil
}

// check runs all checks, and what else is to be done, side by side: none of
// them changes what another one reads.
func (r *run) check(other func()) {
	checks := [...]func(*run){
		(*run).checkText, (*run).checkDuplicates, (*run).checkClaims, (*run).checkNames, (*run).checkGenerated, (*run).checkTraps,
		(*run).checkShape, (*run).checkTables, (*run).checkPartitions, (*run).checkSamples, (*run).checkState,
	}
	var parts [len(checks)]run
	var wg sync.WaitGroup
	for i, check := range checks {
		parts[i] = run{o: r.o, views: r.views, rules: r.rules}
		wg.Go(func() { check(&parts[i]) })
	}
	other()
	wg.Wait()
	for i := range parts {
		r.findings = append(r.findings, parts[i].findings...)
	}
}

// run is one call of Lint.
type run struct {
	o        *Options
	views    []*view
	rules    map[string]Rule
	findings []Finding
	counts   map[*topology.Subtopology]counted // see count
}

// config is the configuration that the view's file has.
func (v *view) config() *Config { return v.in.Config }

// report adds a finding about a view. The severity is the rule's, unless the
// check sets another; settle applies the configuration.
func (r *run) report(v *view, rule string, line int, kind, subject, format string, args ...any) *Finding {
	rl := r.rules[rule]
	r.findings = append(r.findings, Finding{
		Rule: rl.ID, Name: rl.Name, Severity: rl.Severity, Message: fmt.Sprintf(format, args...),
		File: v.in.File, Line: line, App: v.id, Topology: v.t.Name, Subject: subject, Kind: kind, config: v.config(),
	})
	return &r.findings[len(r.findings)-1]
}

// with adds the other end of a clash.
func (f *Finding) with(v *view, line int, subject string) *Finding {
	f.Others = append(f.Others, Place{v.in.File, line, subject})
	return f
}

// settle applies configuration, ignores and baseline, and puts the findings in
// order.
func (r *run) settle(res *Result) {
	used := map[*Config]map[int]bool{}
	seen := map[string]int{}
	slices.SortStableFunc(r.findings, compareFindings)
	kept := make([]Finding, 0, len(r.findings))
	for _, f := range r.findings {
		f.Severity = f.config.severity(r.rules[f.Rule], f.Severity)
		if f.Severity == Off || len(r.o.Only) > 0 && !slices.Contains(r.o.Only, f.Rule) {
			continue
		}
		f.fingerprint(seen)
		if i, ok := r.ignored(&f); ok {
			if used[f.config] == nil {
				used[f.config] = map[int]bool{}
			}
			used[f.config][i] = true
			res.Suppressed = append(res.Suppressed, Suppressed{f, byIgnore, f.config.Ignores[i].Reason})
			continue
		}
		kept = append(kept, f)
	}
	if useless := r.uselessIgnores(used, seen); len(useless) > 0 {
		kept = append(kept, useless...)
		slices.SortStableFunc(kept, compareFindings)
	}
	r.applyBaseline(res, kept)
	for _, f := range res.Findings {
		switch f.Severity {
		case Error:
			res.Counts.Errors++
		case Warning:
			res.Counts.Warnings++
		default:
			res.Counts.Infos++
		}
	}
	res.Counts.Suppressed = len(res.Suppressed)
}

func compareFindings(a, b Finding) int {
	if a.File == b.File && a.Line != b.Line { // mostly
		return cmp.Compare(a.Line, b.Line)
	}
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), compareIDs(a.Rule, b.Rule), strings.Compare(a.Subject, b.Subject))
}

func (r *run) ignored(f *Finding) (int, bool) {
	if f.config == nil {
		return 0, false
	}
	for i, ig := range f.config.Ignores {
		if ig.matches(f) && !ig.expired(r.o.Now) {
			return i, true
		}
	}
	return 0, false
}

// uselessIgnores says which ignores have expired, or match nothing. One of
// another application, or of a rule that did not run, may be needed elsewhere.
func (r *run) uselessIgnores(used map[*Config]map[int]bool, seen map[string]int) []Finding {
	var out []Finding
	done := map[*Config]bool{nil: true}
	for i := range r.o.Inputs {
		c := r.o.Inputs[i].Config
		if done[c] {
			continue
		}
		done[c] = true
		for j, ig := range c.Ignores {
			what := cmp.Or(strings.TrimSpace(ig.Rule+" "+ig.Name), "everything")
			f := Finding{Rule: "I3", Name: r.rules["I3"].Name, File: c.File, Line: ig.Line, Kind: kindIgnore, Subject: what, config: c}
			f.Severity = c.severity(r.rules["I3"], r.rules["I3"].Severity)
			switch {
			case ig.expired(r.o.Now):
				f.Message = fmt.Sprintf("the ignore of %s expired on %s: %s", what, ig.Expires.Format(time.DateOnly), ig.Reason)
			case !used[c][j] && r.knows(ig):
				f.Message = fmt.Sprintf("the ignore of %s matches no finding any more", what)
			default:
				continue
			}
			if f.Severity == Off || len(r.o.Only) > 0 && !slices.Contains(r.o.Only, f.Rule) {
				continue
			}
			f.fingerprint(seen)
			out = append(out, f)
		}
	}
	return out
}

// knows says whether an ignore would have matched, had there been a finding:
// its application is here and its rule had what it needs.
func (r *run) knows(ig Ignore) bool {
	if ig.AppID != "" && !slices.ContainsFunc(r.views, func(v *view) bool { return v.id == ig.AppID }) {
		return false
	}
	missing := r.unchecked()
	if ig.Rule == "" {
		return len(missing) == 0
	}
	return (len(r.o.Only) == 0 || slices.Contains(r.o.Only, ig.Rule)) &&
		!slices.ContainsFunc(missing, func(u Unchecked) bool { return u.Rule == ig.Rule })
}

func (r *run) applyBaseline(res *Result, kept []Finding) {
	if r.o.Baseline == nil {
		res.Findings = kept
		return
	}
	accepted := map[string]bool{}
	for _, a := range r.o.Baseline.Findings {
		accepted[a.Fingerprint] = true
	}
	found := map[string]bool{}
	for _, f := range kept {
		if accepted[f.Fingerprint] {
			found[f.Fingerprint] = true
			res.Suppressed = append(res.Suppressed, Suppressed{f, byBaseline, "in the baseline"})
			continue
		}
		res.Findings = append(res.Findings, f)
	}
	for _, a := range r.o.Baseline.Findings {
		if !found[a.Fingerprint] {
			res.Gone = append(res.Gone, a.Fingerprint)
		}
	}
}

// fingerprint is over what the finding is about, not where it is or how it is
// said: it outlives moved lines and reworded messages.
func (f *Finding) fingerprint(seen map[string]int) {
	parts := []string{f.Rule, f.App, f.Topology, f.Kind, f.Subject}
	if f.App == "" {
		parts[1] = filepath.Base(f.File)
	}
	for _, o := range f.Others {
		parts = append(parts, o.Subject)
	}
	slices.Sort(parts[5:])
	key := strings.Join(parts, "\x00")
	seen[key]++
	if n := seen[key]; n > 1 {
		key += fmt.Sprintf("\x00%d", n)
	}
	sum := sha256.Sum256([]byte(key))
	f.Fingerprint = hex.EncodeToString(sum[:12])
}

// applications is what was looked at.
func (r *run) applications() []Application {
	var out []Application
	for i := range r.o.Inputs {
		in := &r.o.Inputs[i]
		at := map[string]int{}
		for _, v := range r.views {
			if v.in != in {
				continue
			}
			k, ok := at[v.id]
			if !ok {
				k = len(out)
				at[v.id] = k
				out = append(out, Application{ID: v.id, File: in.File})
			}
			a := &out[k]
			a.Topologies++
			a.Nodes += v.t.Nodes()
			for _, s := range v.t.Subtopologies {
				if !s.Global {
					a.Subtopologies++
				}
			}
			for _, s := range v.stores {
				if s.generated {
					a.Generated++
				}
				if s.Global {
					a.GlobalStores = append(a.GlobalStores, s.Name)
					continue
				}
				a.Stores = append(a.Stores, s.Name)
				if !v.restoredFromSource(s) {
					a.Changelogs = append(a.Changelogs, s.changelog)
				}
			}
			for _, f := range v.topics {
				if f.internal() {
					a.Internal = append(a.Internal, v.topic(f))
					if f.generated {
						a.Generated++
					}
				}
			}
		}
	}
	return out
}
