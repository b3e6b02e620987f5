package human

import (
	"fmt"
	"strings"
)

// ShellWord is s as one word of a command line for a shell.
func ShellWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "~")
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)) {
			plain = false
		}
	}
	if plain {
		return s
	}
	if Printable(s) != s { // bytes that no terminal should get back from the clipboard
		var b strings.Builder
		b.WriteString("$'")
		for _, c := range []byte(s) {
			if c < 0x20 || c >= 0x7f || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return b.String() + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandLine is the words as a shell takes them.
func CommandLine(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = ShellWord(w)
	}
	return strings.Join(out, " ")
}
