//go:build !race

package replicas

const raced = false
