package tui

import (
	"slices"
	"sort"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"sstool/internal/op"
)

// Names of what keys do; the configuration file knows them by these.
const (
	doUp         = "up"
	doDown       = "down"
	doPageUp     = "page-up"
	doPageDown   = "page-down"
	doTop        = "top"
	doBottom     = "bottom"
	doLeft       = "left"
	doRight      = "right"
	doEnter      = "enter"
	doBack       = "back"
	doCommand    = "command"
	doFilter     = "filter"
	doHelp       = "help"
	doDescribe   = "describe"
	doCopy       = "copy"
	doSort       = "sort"
	doReverse    = "sort-reverse"
	doRefresh    = "refresh"
	doNextTab    = "next-tab"
	doPrevTab    = "previous-tab"
	doActions    = "actions"
	doGoto       = "go-to"
	doDecoder    = "decoder"
	doKeyDecoder = "key-decoder"
	doSearch     = "search"
	doMore       = "more"
	doExact      = "measure"
	doCancel     = "cancel"
	doQuit       = "quit"
)

// deed is one thing that keys do.
type deed struct {
	name string
	keys []string
	help string
}

// deeds are all of them in the order of the help, with their usual keys.
func deeds() []deed {
	return []deed{
		{doUp, []string{"up", "k"}, "up"},
		{doDown, []string{"down", "j"}, "down"},
		{doPageUp, []string{"pgup", "ctrl+b"}, "a page up"},
		{doPageDown, []string{"pgdown", "ctrl+f", "space"}, "a page down"},
		{doTop, []string{"home", "g"}, "first line"},
		{doBottom, []string{"end", "G"}, "last line"},
		{doLeft, []string{"left", "h"}, "scroll left"},
		{doRight, []string{"right", "l"}, "scroll right"},
		{doEnter, []string{"enter"}, "open"},
		{doBack, []string{"esc"}, "back"},
		{doCommand, []string{":"}, "type a command"},
		{doFilter, []string{"/"}, "filter: a regular expression, ! in front for what does not match"},
		{doHelp, []string{"?"}, "help"},
		{doDescribe, []string{"d"}, "describe"},
		{doCopy, []string{"y"}, "copy as JSON or as the command line"},
		{doSort, []string{"s"}, "sort by the next column"},
		{doReverse, []string{"S"}, "sort the other way round"},
		{doRefresh, []string{"ctrl+r"}, "read again"},
		{doNextTab, []string{"tab"}, "next tab; 1 to 9 go to one"},
		{doPrevTab, []string{"shift+tab"}, "previous tab"},
		{doActions, []string{"a"}, "actions"},
		{doGoto, []string{"f"}, "find a key"},
		{doSearch, []string{"F"}, "search all rows"},
		{doDecoder, []string{"v"}, "decoder of values"},
		{doKeyDecoder, []string{"K"}, "decoder of keys"},
		{doMore, []string{"n"}, "next rows"},
		{doExact, []string{"m"}, "measure exactly"},
		{doCancel, []string{"ctrl+x"}, "cancel the action"},
		{doQuit, []string{"q", "ctrl+c"}, "quit"},
	}
}

// keymap says what a key does.
type keymap struct {
	order    []string
	bindings map[string]key.Binding
}

// newKeymap is the usual keys, with some replaced: the configuration's. A key
// that is given to something is taken from what had it.
func newKeymap(more map[string][]string) (*keymap, error) {
	m := &keymap{bindings: map[string]key.Binding{}}
	taken := map[string]string{}
	names := make([]string, 0, len(more))
	for name := range more {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !slices.ContainsFunc(deeds(), func(d deed) bool { return d.name == name }) {
			return nil, op.Errorf(op.Usage, "there is nothing called %q that a key could do; known: %s", name, strings.Join(KeyNames(), ", "))
		}
		for _, k := range more[name] {
			if other, twice := taken[k]; twice {
				return nil, op.Errorf(op.Usage, "key %q is given to %s and to %s", k, other, name)
			}
			taken[k] = name
		}
	}
	for _, d := range deeds() {
		keys := more[d.name]
		if keys == nil {
			keys = slices.DeleteFunc(slices.Clone(d.keys), func(k string) bool { return taken[k] != "" })
		}
		m.order = append(m.order, d.name)
		m.bindings[d.name] = key.NewBinding(key.WithKeys(keys...), key.WithHelp(strings.Join(keys, " "), d.help))
	}
	return m, nil
}

// KeyNames are what a configuration may bind keys to.
func KeyNames() []string {
	var out []string
	for _, d := range deeds() {
		out = append(out, d.name)
	}
	return out
}

// action is what the key does; "" when nothing.
func (m *keymap) action(msg tea.KeyPressMsg) string {
	for _, name := range m.order {
		if key.Matches(msg, m.bindings[name]) {
			return name
		}
	}
	return ""
}

// first is the key to name in hints; "" when the deed has none.
func (m *keymap) first(name string) string {
	if keys := m.bindings[name].Keys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}
