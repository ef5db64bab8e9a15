//go:build race

package replicas

const raced = true
