package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

func newMonitorRules(a *app) *cobra.Command {
	var defaults bool
	cmd := &cobra.Command{
		Use:         "rules",
		Short:       "write the thresholds as a file",
		Annotations: exits(exitsBasic),
		Args:        noArgs,
	}
	cmd.Flags().BoolVar(&defaults, "defaults", false, "write the thresholds, as a file for --thresholds")
	cmd.RunE = a.run(func(*cobra.Command, []string) error { return a.writeText(defaultThresholds()) })
	return cmd
}

// writeText writes a text to stdout.
func (a *app) writeText(text string) error {
	if _, err := fmt.Fprint(a.io.Out, text); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
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
