// Package tui is the dashboard: one screen for the state of applications, on
// the same engines as the commands.
//
// The model only shows. Engines run outside of it: the feed (feed.go) maps the
// state and asks the cluster when files or time say so and sends what it found;
// what a screen wants beyond that is fetched by a command and comes back as a
// message. So no frame waits for a disk or a broker, and a slow terminal slows
// no engine.
//
// A screen is a struct with a table or a text for a body (screen.go, table.go,
// text.go); the model (model.go) keeps the stack of screens, the line that is
// typed on, dialogs and the actions that run. Keys, colours and characters are
// in keys.go and theme.go. Whatever comes from keys, names or topics is escaped
// before it is laid out.
//
// What does not live here: flags and configuration files (cmd), and everything
// that reads or changes state (inspect, restore, migrate).
package tui
