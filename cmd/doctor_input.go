package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sstool/inspect/doctor"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// doctorOptions reads what the flags name.
func (a *app) doctorOptions(f *doctorFlags) (doctor.Options, error) {
	o := doctor.Options{AppID: f.appID, Also: f.also, Guarantee: f.guarantee.value, Rate: float64(f.rate.or(0)),
		Areas: f.areas, Only: f.checks, Now: time.Now()}
	err := checkNames(f)
	if err != nil {
		return o, err
	}
	for flag, v := range map[string]struct {
		text string
		to   *streams.Version
	}{"--kafka-version": {f.version, &o.Kafka}, "--target-version": {f.target, &o.Target}} {
		if v.text == "" {
			continue
		}
		if *v.to, err = streams.ParseVersion(v.text); err != nil {
			return o, fmt.Errorf("%s: %w", flag, err)
		}
	}
	if o.Path, err = doctorPath(f); err != nil {
		return o, err
	}
	if o.Config, err = readAppConfig(f.config); err != nil {
		return o, err
	}
	if o.Topology, err = a.doctorTopology(f); err != nil {
		return o, err
	}
	if f.checklist {
		o.Only = checklistIDs()
	}
	o.SLA = time.Duration(f.sla)
	if f.report != "" {
		m, err := readMeasured(f.report)
		if err != nil {
			return o, err
		}
		if o.Rates = m.rates(); !f.rate.set {
			o.Rate = m.RecordsPerSec
		}
		o.Restored, o.RestoredFrom = m.took(f.report)
	}
	return o, nil
}

// checkNames refuses areas and checks that there are none of.
func checkNames(f *doctorFlags) error {
	for _, area := range f.areas {
		if !slices.Contains(doctor.Areas(), area) {
			return op.Errorf(op.Usage, "no area %q", area).WithTry("one of %s", strings.Join(doctor.Areas(), ", "))
		}
	}
	for _, id := range f.checks {
		if !slices.Contains(checkIDs(), id) {
			e := op.Errorf(op.Usage, "no check %q", id)
			if near := kafka.Nearest(id, checkIDs(), 3); len(near) > 0 {
				return e.WithTry("one of %s; sstool doctor --list has them all", strings.Join(near, ", "))
			}
			return e.WithTry("sstool doctor --list has them all")
		}
	}
	return nil
}

// doctorPath is the directory to look at; "" when none is given.
func doctorPath(f *doctorFlags) (string, error) {
	if f.stateDir == "" && f.kafka.bootstrap == "" && f.kafka.commandConfig == "" && f.topology == "" && f.config == "" && f.log == "" {
		return "", op.Errorf(op.Usage, "nothing to look at").
			WithTry("--state-dir DIR, --bootstrap-server HOST:PORT, --topology FILE, --app-config FILE, --log FILE, or several of them")
	}
	if f.stateDir == "" {
		return "", nil
	}
	m := mapFlags{stateDir: f.stateDir, id: f.appID}
	return m.where(nil)
}

// measured is what doctor takes out of a saved restore --measure -o json.
type measured struct {
	Kind          string  `json:"kind"`
	RecordsPerSec float64 `json:"records_per_second"`
	Max           float64 `json:"max_seconds"`
	Profile       string  `json:"profile"`
	Estimate      *struct {
		Seconds float64 `json:"seconds"`
	} `json:"application_estimate"`
	Partitions []struct {
		Kind    streams.Kind `json:"kind"`
		Records float64      `json:"records"`
		Elapsed float64      `json:"elapsed_seconds"`
	} `json:"partitions"`
}

func readMeasured(path string) (*measured, error) {
	file, _, err := op.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, op.Errorf(op.NotFound, "no file %s", path)
	}
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: path, Err: err}
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	if err != nil {
		return nil, &op.Error{Kind: op.Failed, What: path, Err: err}
	}
	var m measured
	if err := json.Unmarshal(b, &m); err != nil || m.Kind != "restore.measure" && m.Kind != "restore.into" {
		return nil, op.Errorf(op.Usage, "%s is no saved report of a restore", path).WithTry("sstool restore --measure -o json > FILE")
	}
	return &m, nil
}

// rates are the records a second by kind of store, over all its partitions.
func (m *measured) rates() map[streams.Kind]float64 {
	records, seconds := map[streams.Kind]float64{}, map[streams.Kind]float64{}
	for _, p := range m.Partitions {
		records[p.Kind] += p.Records
		seconds[p.Kind] += p.Elapsed
	}
	out := map[streams.Kind]float64{}
	for kind, n := range records {
		if n > 0 && seconds[kind] > 0 {
			out[kind] = n / seconds[kind]
		}
	}
	return out
}

// readAppConfig reads the application's properties; nil without a file.
func readAppConfig(path string) (*doctor.AppConfig, error) {
	if path == "" {
		return nil, nil
	}
	set, err := loadSettings(path)
	if err != nil {
		return nil, err
	}
	c := doctor.NewAppConfig(path, set)
	if !c.Known() {
		return nil, op.Errorf(op.Usage, "%s has no setting of Kafka Streams: it would be taken for one that leaves all at the defaults", path).
			WithTry("the application's properties, with application.id; Spring's and Quarkus' prefixes are known")
	}
	return c, nil
}

// doctorTopology reads the topology's text; nil without a file.
func (a *app) doctorTopology(f *doctorFlags) (*topology.Topology, error) {
	if f.topology == "" {
		return nil, nil
	}
	models, err := topology.Load([]string{f.topology}, a.io.In, topology.Options{ApplicationID: f.appID})
	if err != nil {
		return nil, err
	}
	if n := len(models[0].Topologies); n != 1 {
		return nil, op.Errorf(op.Usage, "%s has %d topologies, expected one", f.topology, n)
	}
	return &models[0].Topologies[0], nil
}
