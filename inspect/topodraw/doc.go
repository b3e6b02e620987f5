// Package topodraw draws a topology as text: a tree for people, Mermaid and DOT
// for programs that make pictures. Stores, changelogs and internal topics are
// in it.
//
// It reads models of internal/topology. What it returns is safe to print: names
// are escaped for the format they stand in.
package topodraw
