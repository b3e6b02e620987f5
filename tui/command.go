package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// command is what can be typed after a colon.
type command struct {
	name   string
	other  []string // other names
	help   string
	values func(m *Model) []string // of its argument, for completion
	do     func(m *Model, arg string) tea.Cmd
}

func none(*Model) []string { return nil }

// commands are all of them, in the order of the help.
func commands() []command {
	return []command{
		{"apps", []string{"applications"}, "all applications", none, func(m *Model, _ string) tea.Cmd { return m.root(m.home()...) }},
		{"tasks", nil, "tasks of all applications, or of one", appNames, func(m *Model, app string) tea.Cmd {
			return m.root(single(newAppsScreen()), single(newTasksScreen(app)))
		}},
		{"stores", nil, "stores of all applications, or of one", appNames, func(m *Model, app string) tea.Cmd {
			return m.root(single(newAppsScreen()), single(newStoresScreen(app, "")))
		}},
		{"remarks", []string{"problems"}, "what is wrong or remarkable", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newRemarksScreen())) }},
		{"changelogs", []string{"topics"}, "changelog topics of the cluster", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newChangelogsScreen())) }},
		{"topology", nil, "the topology, with sizes and lags of its stores", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newTopologyScreen())) }},
		{"lint", nil, "what the rules find in names and topology", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newLintScreen())) }},
		{"doctor", nil, "what the next start does, what is wrong, and what to do", appNames, func(m *Model, app string) tea.Cmd { return m.diagnose(app) }},
		{"metrics", nil, "gauges of running applications against thresholds, live", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newMetricsScreen())) }},
		{"restore", nil, "measure a restore of what is under the cursor", none, func(m *Model, _ string) tea.Cmd { return m.restore() }},
		{"actions", nil, "what can be done to what is under the cursor", none, func(m *Model, _ string) tea.Cmd { return m.chooseAction() }},
		{"log", nil, "actions that run or ran, and their results", none, func(m *Model, _ string) tea.Cmd { return m.push(single(newLogScreen())) }},
		{"theme", nil, "dark, light, none or auto", func(*Model) []string { return Themes() }, func(m *Model, name string) tea.Cmd {
			if !slices.Contains(Themes(), name) {
				m.say(bad, "themes are "+strings.Join(Themes(), ", "))
				return nil
			}
			m.setTheme(name)
			m.rebuild()
			return nil
		}},
		{"ctx", []string{"context"}, "contexts of the configuration file, or go to one", contextNames, func(m *Model, name string) tea.Cmd { return m.toContext(name) }},
		{"help", []string{"h"}, "help", none, func(m *Model, _ string) tea.Cmd {
			m.dialog = newHelp(m)
			return nil
		}},
		{"quit", []string{"q", "exit"}, "quit", none, func(m *Model, _ string) tea.Cmd { return m.leave() }},
	}
}

func appNames(m *Model) []string {
	var out []string
	if m.snap.disk != nil {
		for _, a := range m.snap.disk.Apps {
			if a.ID != "" && safe(a.ID) == a.ID && !strings.Contains(a.ID, " ") {
				out = append(out, a.ID)
			}
		}
	}
	return out
}

func contextNames(m *Model) []string {
	var out []string
	for _, c := range m.o.Contexts {
		if c.Name != "" {
			out = append(out, c.Name)
		}
	}
	return out
}

// run carries out a typed command.
func (m *Model) run(typed string) tea.Cmd {
	name, arg, _ := strings.Cut(strings.TrimSpace(typed), " ")
	if name == "" {
		return nil
	}
	arg = strings.TrimSpace(arg)
	var near []command
	for _, c := range commands() {
		if c.name == name || slices.Contains(c.other, name) {
			return c.do(m, arg)
		}
		if strings.HasPrefix(c.name, name) {
			near = append(near, c)
		}
	}
	if len(near) == 1 {
		return near[0].do(m, arg)
	}
	m.say(bad, "no command "+name+"; :help lists them")
	return nil
}
