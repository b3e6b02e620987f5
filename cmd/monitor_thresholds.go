package cmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

// loadThresholds reads a file of thresholds over the defaults; "" is none.
func loadThresholds(file string) (monitor.Thresholds, error) {
	if file == "" {
		return monitor.Defaults(), nil
	}
	b, err := readText("thresholds", file)
	if err != nil {
		return monitor.Thresholds{}, err
	}
	return parseThresholds(file, b)
}

// thresholdsParser walks the YAML itself, so that every complaint has a line.
type thresholdsParser struct{ file string }

func (p thresholdsParser) bad(n *yaml.Node, format string, args ...any) error {
	return op.Errorf(op.Usage, "%s:%d: %s", p.file, n.Line, fmt.Sprintf(format, args...))
}

func parseThresholds(file string, b []byte) (monitor.Thresholds, error) {
	t := monitor.Defaults()
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return t, op.Errorf(op.Usage, "%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return t, nil
	}
	p := thresholdsParser{file}
	err := eachKey(doc.Content[0], p.bad, "the file of thresholds", func(k, v *yaml.Node) error {
		switch k.Value {
		case "checks":
			return p.checks(v, t.Checks, t.Checks)
		case "stores":
			if v.Kind != yaml.SequenceNode {
				return p.bad(v, "stores must be a list")
			}
			for _, n := range v.Content {
				o, err := p.store(n, t.Checks)
				if err != nil {
					return err
				}
				t.Stores = append(t.Stores, o)
			}
			return nil
		}
		return p.bad(k, "unknown key %q, expected checks or stores", k.Value)
	})
	return t, err
}

// store reads what is different for some stores.
func (p thresholdsParser) store(n *yaml.Node, base map[monitor.CheckID]monitor.Threshold) (monitor.Override, error) {
	o := monitor.Override{Checks: map[monitor.CheckID]monitor.Threshold{}}
	err := eachKey(n, p.bad, "a store", func(k, v *yaml.Node) error {
		switch k.Value {
		case "store":
			if o.Store = v.Value; o.Store == "" || !monitor.ValidPattern(o.Store) {
				return p.bad(v, "%q is no pattern of store names", v.Value)
			}
			return nil
		case "ttl":
			if err := v.Decode(&o.TTL); err != nil {
				return p.bad(v, "ttl is true or false, not %q", v.Value)
			}
			return nil
		case "checks":
			return p.checks(v, base, o.Checks)
		}
		return p.bad(k, "unknown key %q, expected store, ttl or checks", k.Value)
	})
	if err == nil && o.Store == "" {
		err = p.bad(n, "store is missing: the pattern of names that this is about")
	}
	return o, err
}

// checks reads thresholds into a map; what one does not say is as in base.
func (p thresholdsParser) checks(n *yaml.Node, base, into map[monitor.CheckID]monitor.Threshold) error {
	return eachKey(n, p.bad, "checks", func(k, v *yaml.Node) error {
		c := monitor.CheckNamed(monitor.CheckID(k.Value))
		if c == nil {
			var names []string
			for _, c := range monitor.Checks() {
				names = append(names, string(c.ID))
			}
			return p.bad(k, "unknown check %q, expected one of %s", k.Value, strings.Join(names, ", "))
		}
		th := base[c.ID]
		if err := eachKey(v, p.bad, k.Value, func(k, v *yaml.Node) error { return p.threshold(c, &th, k, v) }); err != nil {
			return err
		}
		into[c.ID] = th
		return nil
	})
}

// threshold reads one setting of a check.
func (p thresholdsParser) threshold(c *monitor.Check, th *monitor.Threshold, k, v *yaml.Node) error {
	if k.Value == "severity" {
		all := []op.Status{monitor.Off, op.Attention, op.Wrong}
		if th.Severity = op.Status(v.Value); !slices.Contains(all, th.Severity) {
			return p.bad(v, "%q is no severity, expected off, warning or problem", v.Value)
		}
		return nil
	}
	if !slices.Contains(c.Settings(), k.Value) {
		return p.bad(k, "%s has no %s, expected severity, %s", c.ID, k.Value, strings.Join(c.Settings(), ", "))
	}
	var number float64
	var err error
	switch k.Value {
	case "window":
		var d time.Duration
		if d, err = parseDuration(v.Value); err == nil && d < time.Second {
			err = fmt.Errorf("%q is too short", v.Value)
		}
		th.Window = d
	case "growth":
		number, err = parseAmount(monitor.Ratio, v.Value)
		th.Growth = &number
	case "min":
		number, err = parseAmount(c.Unit, v.Value)
		th.Min = &number
	case "max":
		number, err = parseAmount(c.Unit, v.Value)
		th.Max = &number
	case "floor":
		number, err = parseAmount(c.Unit, v.Value)
		th.Floor = &number
	}
	if err != nil {
		return p.bad(v, "%s: %v", k.Value, err)
	}
	return nil
}

// parseAmount reads an amount in a unit: 80%, 10GB, 1m30s, 100000.
func parseAmount(u monitor.Unit, s string) (float64, error) {
	switch u {
	case monitor.Bytes:
		n, err := parseBytes(s)
		return float64(n), err
	case monitor.Seconds:
		d, err := parseDuration(s)
		return d.Seconds(), err
	case monitor.Ratio:
		if share, ok := strings.CutSuffix(s, "%"); ok {
			n, err := parseAmount(monitor.Number, strings.TrimSpace(share))
			return n / 100, err
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n < 1e18) || strings.ContainsAny(s, "xXpP_") {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}

// formatAmount is what parseAmount reads again.
func formatAmount(u monitor.Unit, v float64) string {
	switch u {
	case monitor.Bytes:
		for _, unit := range []struct {
			name string
			size float64
		}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
			if n := v / unit.size; n >= 1 && n == float64(int64(n)) {
				return strconv.FormatFloat(n, 'f', -1, 64) + unit.name
			}
		}
	case monitor.Seconds:
		return time.Duration(v * float64(time.Second)).String()
	case monitor.Ratio:
		return strconv.FormatFloat(v*100, 'g', 6, 64) + "%"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// defaultThresholds is the file that says what is so without one.
func defaultThresholds() string {
	var b strings.Builder
	b.WriteString(`# Thresholds of sstool monitor, and of the alert rules that it writes. A check that
# is not here is as it would be without this file; severity is off, warning or problem.
checks:
`)
	for _, c := range monitor.Checks() {
		th := c.Default
		fmt.Fprintf(&b, "  # %s\n", c.About())
		fmt.Fprintf(&b, "  %s:\n    severity: %s\n", c.ID, th.Severity)
		for _, s := range c.Settings() {
			switch {
			case s == "window":
				fmt.Fprintf(&b, "    window: %s\n", humanDuration(th.Window))
			case s == "growth":
				fmt.Fprintf(&b, "    growth: %s\n", formatAmount(monitor.Ratio, *th.Growth))
			case s == "floor":
				fmt.Fprintf(&b, "    floor: %s\n", formatAmount(c.Unit, *th.Floor))
			case s == "min":
				fmt.Fprintf(&b, "    min: %s\n", formatAmount(c.Unit, *th.Min))
			case th.Max != nil:
				fmt.Fprintf(&b, "    max: %s\n", formatAmount(c.Unit, *th.Max))
			default:
				b.WriteString("    # max: 10m, or --sla\n")
			}
		}
	}
	b.WriteString(`
# What is different for some stores. * stands for any text; the last one that fits counts.
stores: []
#  - store: "sessions-*"
#    ttl: true # the application removes rows by age: their number may grow
#    checks:
#      pending-compaction: {severity: warning, max: 50GB}
`)
	return b.String()
}
