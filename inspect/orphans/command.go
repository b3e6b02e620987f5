package orphans

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/human"
)

// Command has what the printed commands need.
type Command struct {
	Server string // --bootstrap-server of Kafka's tools
	Config string // --command-config; "" for none
	Again  string // this very command with --delete
}

// remove is the command with which a person would remove an orphan.
func (c Command) remove(o *Orphan) string {
	switch o.Kind {
	case KindTopic:
		return c.kafka("kafka-topics.sh") + " --delete --topic " + human.ShellWord(topicPattern(o.Name))
	case KindGroup:
		return c.kafka("kafka-consumer-groups.sh") + " --delete --group " + human.ShellWord(o.Name)
	case KindOffsets:
		if !o.Deletable {
			return ""
		}
		parts := slices.Sorted(slices.Values(o.Partitions))
		return fmt.Sprintf("%s --delete-offsets --group %s --topic %s", c.kafka("kafka-consumer-groups.sh"), human.ShellWord(o.Group), human.ShellWord(o.Topic+":"+strings.Trim(strings.ReplaceAll(fmt.Sprint(parts), " ", ","), "[]")))
	case KindApplicationDir, KindTaskDir, KindStoreDir, KindSegmentDir, KindLeftover:
		return "rm -r -- " + human.ShellWord(o.Name)
	case KindCheckpoint:
		return c.Again // a text editor must also count the lines anew
	}
	return ""
}

func (c Command) kafka(tool string) string {
	out := tool + " --bootstrap-server " + human.ShellWord(c.Server)
	if c.Config != "" {
		out += " --command-config " + human.ShellWord(c.Config)
	}
	return out
}

// topicPattern is the regular expression that kafka-topics.sh takes for a
// topic: of the characters that a name may have, only the dot means more than
// itself (org.apache.kafka.server.util.TopicFilter.IncludeList matches whole
// names).
func topicPattern(topic string) string { return strings.ReplaceAll(topic, ".", `\.`) }
