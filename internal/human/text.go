package human

import (
	"math"
	"regexp"
	"strings"
	"sync"
)

// generatedName is a name that Kafka Streams makes: what it is, and a number.
var generatedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)(?:-STATE-STORE)?-0*(\d+)(?:-store)?(-changelog|-repartition)?$`)
})

// Shorten makes a name fit: of a generated one the words stay that tell it from
// others, of any other its two ends.
func Shorten(s string, room int) string {
	r := []rune(s)
	if len(r) <= room {
		return s
	}
	tail := string(r[len(r)-(room-1)*2/3:])
	if m := generatedName().FindStringSubmatch(s); m != nil && len(m[2])+len(m[3]) < room/2 {
		r, tail = []rune(m[1]), m[2]+m[3]
	}
	head := min(len(r), room-1-len([]rune(tail)))
	return string(r[:head]) + "…" + tail
}

// Bar is a bar of part/whole of the width, at least something for anything.
func Bar(part, whole float64, width int, utf8 bool) string {
	if part <= 0 || whole <= 0 {
		return ""
	}
	exact := min(1, part/whole) * float64(width)
	if !utf8 {
		return strings.Repeat("#", max(1, int(math.Round(exact))))
	}
	eighths := max(1, int(math.Round(exact*8)))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}
