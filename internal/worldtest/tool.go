package worldtest

import (
	"context"
	"os/exec"
	"slices"
)

// Tool runs one of Kafka's command line tools against the broker, unless the
// arguments name one: "TopicCommand" is kafka-topics.sh,
// "consumer.group.ConsumerGroupCommand" kafka-consumer-groups.sh.
func (b *Broker) Tool(ctx context.Context, class string, args ...string) (string, error) {
	if !slices.Contains(args, "--bootstrap-server") {
		args = append([]string{"--bootstrap-server", b.Bootstrap}, args...)
	}
	args = append([]string{"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", b.classpath, "org.apache.kafka.tools." + class}, args...)
	return runCommand(ctx, exec.Command("java", args...))
}
