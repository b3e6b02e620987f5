package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"sstool/internal/op"
)

// Action is something that changes state, or works for long: it shows its plan
// before it is done. The engines do the work; an Action only leads to them.
type Action struct {
	Name string // "compact", "restore", …
	// What it would be done to: a store, an application.
	Subject string
	// Writes says that it changes what is there: it needs --allow-writes.
	Writes bool
	// Type is the name that must be typed before it is done; "": y is enough.
	Type string
	// Plan looks and changes nothing. The steps are the engine's own.
	Plan func(ctx context.Context) (*Planned, error)
	// Command is the command line that does the same.
	Command []string
}

// Planned is an action that can be done.
type Planned struct {
	Steps    []string
	Warnings []string
	// Apply does it; its result is the command's JSON document.
	Apply func(ctx context.Context, sink op.Sink) (any, error)
}

// jobs are the actions that run or ran.
type jobs struct{ list []*job }

type job struct{}

type jobMsg struct{}

func newJobs() *jobs { return &jobs{} }

func (j *jobs) running() int               { return 0 }
func (j *jobs) short(*Model) line          { return nil }
func (j *jobs) tick(*Model)                {}
func (j *jobs) got(*Model, jobMsg) tea.Cmd { return nil }
func (j *jobs) cancelOne(*Model) tea.Cmd   { return nil }
func (j *jobs) wait()                      {}
func (j *jobs) cancelAll()                 {}
func (m *Model) actions() []Action         { return nil }
func (m *Model) chooseAction() tea.Cmd     { return nil }
func (m *Model) toContext(string) tea.Cmd  { return nil }
func (m *Model) oneApp() *level {
	if len(m.snap.disk.Apps) == 1 {
		return single(newStoresScreen(m.snap.disk.Apps[0].ID, ""))
	}
	return nil
}
