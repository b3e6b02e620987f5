package cmd

import (
	"slices"
	"strings"

	"sstool/inspect/doctor"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/topology"
)

// doctorPath is the directory to look at; "" when none is given.
func doctorPath(f *doctorFlags) (string, error) {
	for _, area := range f.areas {
		if !slices.Contains(doctor.Areas(), area) {
			return "", op.Errorf(op.Usage, "no area %q", area).WithTry("one of %s", strings.Join(doctor.Areas(), ", "))
		}
	}
	if f.stateDir == "" && f.kafka.bootstrap == "" && f.kafka.commandConfig == "" && f.topology == "" && f.config == "" {
		return "", op.Errorf(op.Usage, "nothing to look at").
			WithTry("--state-dir DIR, --bootstrap-server HOST:PORT, --topology FILE, --app-config FILE, or several of them")
	}
	if f.stateDir == "" {
		return "", nil
	}
	m := mapFlags{stateDir: f.stateDir, id: f.appID}
	return m.where(nil)
}

// readAppConfig reads the application's properties; nil without a file.
func readAppConfig(path string) (*doctor.AppConfig, error) {
	if path == "" {
		return nil, nil
	}
	set, err := kafka.LoadProperties(path)
	if err != nil {
		return nil, err
	}
	return &doctor.AppConfig{File: path, Set: set}, nil
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
