// Package house holds no code: its test keeps the rules of the house, which
// packages may import which and that each says what it is for.
package house
