package doctor

import "strings"

// AppConfig is the application's properties: StreamsConfig's names, as in a
// Java properties file. A nil one knows nothing.
type AppConfig struct {
	File string
	Set  map[string]string
}

// get is a setting as it is written; "" when it is not set.
func (c *AppConfig) get(name string) string {
	if c == nil {
		return ""
	}
	return strings.TrimSpace(c.Set[name])
}
