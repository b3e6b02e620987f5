package cmd

import (
	"time"

	"sstool/internal/human"
)

// What the command line and the dashboard share has short names here.

func humanBytes(n int64) string             { return human.Bytes(n) }
func humanDuration(d time.Duration) string  { return human.Duration(d) }
func humanCount(n int64) string             { return human.Count(n) }
func humanShare(part, whole float64) string { return human.Share(part, whole) }

func humanRate(perSecond float64, unit string) string { return human.Rate(perSecond, unit) }

// printable escapes what must not reach a terminal raw.
func printable(s string) string { return human.Printable(s) }

// shorten makes a name fit.
func shorten(s string, room int) string { return human.Shorten(s, room) }

// sizeBar is a bar of n/largest of the width.
func sizeBar(n, largest int64, width int, utf8 bool) string {
	return human.Bar(float64(n), float64(largest), width, utf8)
}

// unmeasured is how a value that could not be measured is shown.
func unmeasured(cause string) string { return "unmeasured: " + cause }
