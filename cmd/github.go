package cmd

import (
	"fmt"
	"strings"

	"sstool/internal/topology"
)

// githubCommand is a workflow command of GitHub Actions, which shows text at a
// line of a pull request; level is error, warning or notice. What came from
// stdin has no line.
func githubCommand(level, file string, line int, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	where := ""
	if file != "" && file != topology.Stdin {
		where = fmt.Sprintf("file=%s,line=%d,", property.Replace(relative(file)), max(line, 1))
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", level, where, property.Replace(printable(title)), data.Replace(text))
}
