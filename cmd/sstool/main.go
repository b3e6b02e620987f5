// Command sstool looks after the state of Kafka Streams applications.
package main

import (
	"os"

	"sstool/cmd"
)

func main() { os.Exit(cmd.Main()) }
