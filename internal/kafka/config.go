package kafka

import (
	"fmt"
	"io"
	"log/slog"
	"sort"
	"strings"
)

// Properties are Java client properties. They hold passwords: they print as
// their sorted key names only.
type Properties map[string]string

// names are the property names in order.
func (p Properties) names() []string {
	names := make([]string, 0, len(p))
	for k := range p {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

// String lists the property names, never a value.
func (p Properties) String() string { return "properties[" + strings.Join(p.names(), " ") + "]" }

// GoString is String: %#v must not leak either.
func (p Properties) GoString() string { return p.String() }

// Format makes every verb print String.
func (p Properties) Format(f fmt.State, _ rune) { io.WriteString(f, p.String()) }

// LogValue keeps the values out of structured logs.
func (p Properties) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalJSON writes the names only.
func (p Properties) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", p.String())), nil }

// Config says which cluster to talk to and how.
type Config struct {
	// Bootstrap are host:port addresses; when empty, bootstrap.servers of
	// Properties.
	Bootstrap []string
	// Properties are Java client properties, as LoadProperties reads them.
	Properties Properties
	// ClientID names this client to the brokers; when empty, client.id of
	// Properties, else "sstool".
	ClientID string
	// Warn receives what a user should know about Properties, such as a
	// security key that has no effect. May be nil.
	Warn func(string)
}

// String shows the addresses and the property names, never a value.
func (c Config) String() string {
	return fmt.Sprintf("kafka %s (client %q, %s)", strings.Join(c.Bootstrap, ","), c.ClientID, c.Properties)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// Format makes every verb print String.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// LogValue keeps secrets out of structured logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(fmt.Sprintf(format, args...))
	}
}
