package monitor

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AlertRule is a rule for Prometheus.
type AlertRule struct {
	Alert       string            `json:"alert" yaml:"alert"`
	Expr        string            `json:"expr" yaml:"expr"`
	For         string            `json:"for" yaml:"for"`
	Labels      map[string]string `json:"labels" yaml:"labels"`
	Annotations map[string]string `json:"annotations" yaml:"annotations"`
}

// RuleOptions say which metrics the rules look at.
type RuleOptions struct {
	Scheme     Scheme
	Selector   string // label matchers that all series have: job="orders"
	Thresholds Thresholds
	SLA        time.Duration
}

// AlertRules are the checks as rules for Prometheus: the same thresholds, and
// the same judgement of growth, from the samples that Prometheus keeps.
func AlertRules(o RuleOptions) []AlertRule {
	out := []AlertRule{}
	if o.SLA > 0 {
		limit := o.Thresholds.Checks[RestoreTime]
		limit.Max = value(o.SLA.Seconds())
		checks := map[CheckID]Threshold{}
		for id, th := range o.Thresholds.Checks {
			checks[id] = th
		}
		checks[RestoreTime] = limit
		o.Thresholds.Checks = checks
	}
	for _, c := range Checks() {
		for i, part := range o.parts(&c) {
			if part.th.Severity == Off || c.rule == inTime && part.th.Max == nil {
				continue
			}
			name := alertName(c.ID)
			if i > 0 { // of an override
				name += strconv.Itoa(i)
			}
			out = append(out, AlertRule{
				Alert:  name,
				Expr:   o.expr(&c, part),
				For:    c.patience(),
				Labels: map[string]string{"severity": string(part.th.Severity), "check": string(c.ID)},
				Annotations: map[string]string{
					"summary":     c.summary(),
					"description": sentence(c.consequence),
					"remedy":      sentence(strings.Join(c.remedy, "; ")),
				},
			})
		}
	}
	return out
}

// part is a threshold and the stores that it is of: sets of matchers, any of
// which may fit.
type part struct {
	th       Threshold
	matchers []string
}

// storeLabels are the labels that name a store, by how Kafka Streams calls its
// kind; all exporters keep them.
var storeLabels = [...]string{"rocksdb_state_id", "rocksdb_window_state_id", "rocksdb_session_state_id"}

// parts are a check's threshold, and those of the overrides: as in
// Thresholds.of, the last one that fits a store counts, so every one leaves out
// what a later one takes.
func (o *RuleOptions) parts(c *Check) []part {
	all := part{th: o.Thresholds.Checks[c.ID]}
	switch {
	case c.Metric == RecordsLagMax:
		all.matchers = []string{`client_id=~".+-(restore|global)-consumer"`}
		return []part{all}
	case c.level == eachApplication:
		return []part{{th: all.th, matchers: []string{""}}}
	}
	labels := storeLabels[:]
	if c.level == eachTable {
		labels = labels[:1]
	}
	var own []int // overrides that say something of this check
	for i, v := range o.Thresholds.Stores {
		if _, ok := v.Checks[c.ID]; ok || v.TTL && c.ID == EstimatedKeys {
			own = append(own, i)
		}
	}
	without := func(from int) string { // what later overrides take
		var res []string
		for _, i := range own[from:] {
			res = append(res, globRegexp(o.Thresholds.Stores[i].Store))
		}
		return strings.Join(res, "|")
	}
	if out := without(0); out != "" {
		m := ""
		for _, l := range labels {
			m += "," + l + "!~" + strconv.Quote(out)
		}
		all.matchers = []string{strings.TrimPrefix(m, ",")}
	} else {
		all.matchers = []string{""}
	}
	if c.level == eachTable {
		all.matchers[0] = join(labels[0]+`!=""`, all.matchers[0])
	}
	out := []part{all}
	for n, i := range own {
		v := o.Thresholds.Stores[i]
		p := part{th: o.Thresholds.of(c, Subject{Store: v.Store})}
		if th, ok := v.Checks[c.ID]; ok {
			p.th = th
		}
		if v.TTL && c.ID == EstimatedKeys {
			p.th.Severity = Off
		}
		for _, l := range labels {
			m := l + "=~" + strconv.Quote(globRegexp(v.Store))
			if rest := without(n + 1); rest != "" {
				m += "," + l + "!~" + strconv.Quote(rest)
			}
			p.matchers = append(p.matchers, m)
		}
		out = append(out, p)
	}
	return out
}

// globRegexp is a pattern of store names as a regular expression of Prometheus,
// which is anchored at both ends. No pattern fits the empty label of a series
// that has none.
func globRegexp(glob string) string {
	if strings.Trim(glob, "*") == "" {
		return ".+"
	}
	return strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(glob))
}

func join(matchers ...string) string {
	return strings.Join(slices.DeleteFunc(matchers, func(s string) bool { return s == "" }), ",")
}

// expr is a check as an expression.
func (o *RuleOptions) expr(c *Check, p part) string {
	var any []string
	for _, m := range p.matchers {
		any = append(any, o.expression(c, p.th, join(m, o.Selector)))
	}
	if len(any) == 1 {
		return any[0]
	}
	return "(" + strings.Join(any, ")\nor\n(") + ")"
}

func (o *RuleOptions) expression(c *Check, th Threshold, matchers string) string {
	series := func(m Metric, matchers string) string {
		for _, info := range metrics() {
			if info.name == m {
				return selector(o.Scheme.spellings(info), matchers)
			}
		}
		return ""
	}
	m := series(c.Metric, matchers)
	switch {
	case c.ID == InstanceSize:
		return fmt.Sprintf("sum by (job, instance) (%s) > %s", m, plain(*th.Max))
	case c.rule == atLeast:
		// 0 is also said when no block was looked up: only when reads were
		// served, and none by a memtable, there were some.
		return fmt.Sprintf("(%[1]s > 0 and %[1]s < %[2]s)\nor (%[1]s == 0 and %[3]s > 0 and %[4]s == 0)",
			m, plain(*th.Min), series(BytesReadRate, matchers), series(MemtableHitRatio, matchers))
	case c.rule == noGrowth:
		w := promDuration(th.Window)
		return fmt.Sprintf("%[1]s > %[2]s\nand delta(%[1]s[%[3]s]) > %[4]s * (%[1]s offset %[3]s)\nand delta(%[1]s[%[5]s]) > 0.25 * delta(%[1]s[%[3]s])",
			m, plain(*th.Floor), w, plain(*th.Growth), promDuration(th.Window/2))
	case c.rule == noStall:
		return fmt.Sprintf("rate(%s[5m]) * %s > %s", m, plain(c.scale), plain(*th.Max))
	case c.rule == inTime:
		return fmt.Sprintf("sum by (job, instance) (%s)\n/ (sum by (job, instance) (%s) > 0) > %s", m, series(RestoreRecordsRate, matchers), plain(*th.Max))
	case c.scale != 0:
		return fmt.Sprintf("%s * %s > %s", m, plain(c.scale), plain(*th.Max))
	}
	return fmt.Sprintf("%s > %s", m, plain(*th.Max))
}

// selector selects the series of any of the names.
func selector(names []string, matchers string) string {
	name := names[0]
	if len(names) > 1 {
		name, matchers = "", join("__name__=~"+strconv.Quote(strings.Join(names, "|")), matchers)
	}
	if matchers != "" {
		matchers = "{" + matchers + "}"
	}
	return name + matchers
}

// patience is how long an expression must hold: what is bad for a moment is not.
func (c *Check) patience() string {
	switch c.rule {
	case noGrowth:
		return "1m" // the window is patience enough
	case atLeast:
		return "15m"
	}
	if c.ID == Errors {
		return "0s"
	}
	return "5m"
}

// summary says in a notification what it is about; the value in its unit.
func (c *Check) summary() string {
	format := "{{ $value | humanize }}"
	switch c.Unit {
	case Ratio:
		format = "{{ $value | humanizePercentage }}"
	case Bytes:
		format = "{{ $value | humanize1024 }}B"
	case Seconds:
		format = "{{ $value | humanizeDuration }}"
	}
	of := "{{ $labels.rocksdb_state_id }}{{ $labels.rocksdb_window_state_id }}{{ $labels.rocksdb_session_state_id }} (task {{ $labels.task_id }}) on "
	if c.level == eachApplication {
		of = ""
	}
	return fmt.Sprintf("%s{{ $labels.instance }}: %s: %s", of, c.Title, format)
}

// alertName is a check's id in the usual form of alerts.
func alertName(id CheckID) string {
	name := "KafkaStreams"
	for word := range strings.SplitSeq(string(id), "-") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// promDuration is a duration as Prometheus writes it.
func promDuration(d time.Duration) string {
	if s := short(d.Round(time.Second)); !strings.ContainsAny(s, ".") {
		return s
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
