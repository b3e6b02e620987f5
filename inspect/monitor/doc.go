// Package monitor reads the metrics of Kafka Streams applications where users
// have them, in every spelling that is in use, and holds them against the
// thresholds of the monitoring checklist.
//
// Sources are opened once (Open) and scraped as often as wanted (Scrape); what
// they show goes into a History, and Evaluate judges a History by Thresholds.
// AlertRules writes the same thresholds as rules for Prometheus. The catalogue
// (catalog.go) is the one place that knows a metric's names; the table of checks
// (checks.go) is the one place that knows what is judged, and how.
//
// A value that is not there is unmeasured, with the cause, and never ok.
package monitor
