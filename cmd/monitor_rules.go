package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

const monitorRulesLong = `Writes alert rules for Prometheus: the checks of sstool monitor with the same
thresholds, over the metrics that Prometheus scrapes anyway.

--scheme says how the metrics are spelled: jmx is Prometheus' JMX exporter without
rules, or with those that name metrics kafka_streams_$1_$2; jmx-short is rules that
leave out "stream-" or "-metrics"; micrometer is Micrometer's, and Spring Boot's;
otel is KIP-714's by way of OpenTelemetry's collector. sstool monitor URL tells
which one an application has.

--defaults writes the thresholds instead, as a file to change and to give back with
--thresholds, here and to sstool monitor.`

func newMonitorRules(a *app) *cobra.Command {
	var defaults bool
	var thresholds, selector string
	var sla durationValue
	scheme := choiceValue{value: string(monitor.JMX)}
	for _, s := range monitor.Schemes() {
		scheme.choices = append(scheme.choices, string(s))
	}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "write the thresholds as alert rules for Prometheus, or as a file",
		Long:  monitorRulesLong,
		Example: `  sstool monitor rules --scheme micrometer --selector 'job="orders"' > sstool.rules.yml
  promtool check rules sstool.rules.yml

  sstool monitor rules --defaults > thresholds.yaml
  sstool monitor rules --thresholds thresholds.yaml --sla 10m`,
		Annotations: exits([]exit{{0, "ok"}, {1, "failed"}, {2, "wrong flags, or an unusable file of thresholds"}, {10, "no such file"}}),
		Args:        noArgs,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(&scheme, "scheme", "how the metrics are spelled: `SCHEME` "+strings.Join(scheme.choices, ", "))
	complete(cmd, "scheme", scheme.choices)
	fs.StringVar(&selector, "selector", "", "only series that these `MATCHERS` fit, as between the braces of a query: job=\"orders\"")
	fs.StringVar(&thresholds, "thresholds", "", "thresholds of a `FILE` (default those of --defaults)")
	fs.Var(&sla, "sla", "a restoration may take this long: `DURATION`")
	fs.BoolVar(&defaults, "defaults", false, "write the file of thresholds, not the rules")
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		if defaults {
			if a.given["thresholds"] || a.given["selector"] || a.given["sla"] || a.given["scheme"] {
				return op.Errorf(op.Usage, "--defaults is about the thresholds only: it takes no other flag")
			}
			return a.writeText(defaultThresholds())
		}
		t, err := loadThresholds(thresholds)
		if err != nil {
			return err
		}
		if err := checkMatchers(selector); err != nil {
			return err
		}
		o := monitor.RuleOptions{Scheme: monitor.Scheme(scheme.value), Selector: selector, Thresholds: t, SLA: time.Duration(sla)}
		text, err := alertRules(monitor.AlertRules(o))
		if err != nil {
			return err
		}
		return a.writeText(text)
	})
	return cmd
}

// checkMatchers refuses what would end the braces that it is put between; the
// rest is Prometheus' to judge.
func checkMatchers(s string) error {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case (c == '{' || c == '}' || c == '\n') && !quoted:
			return op.Errorf(op.Usage, "--selector %q: matchers go without braces", s).WithTry(`--selector 'job="orders"'`)
		}
	}
	if quoted {
		return op.Errorf(op.Usage, "--selector %q: a quote is not closed", s).WithTry(`--selector 'job="orders"'`)
	}
	return nil
}

// alertRules is the file that Prometheus loads.
func alertRules(rules []monitor.AlertRule) (string, error) {
	type group struct {
		Name  string              `yaml:"name"`
		Rules []monitor.AlertRule `yaml:"rules"`
	}
	var b bytes.Buffer
	b.WriteString("# Written by sstool monitor rules. Growth is judged from what Prometheus keeps of the window.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(map[string][]group{"groups": {{Name: "sstool", Rules: rules}}})
	if err == nil {
		err = enc.Close()
	}
	if err != nil {
		return "", fmt.Errorf("write the rules: %w", err)
	}
	return b.String(), nil
}

// writeText writes a text to stdout.
func (a *app) writeText(text string) error {
	if _, err := fmt.Fprint(a.io.Out, text); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}
