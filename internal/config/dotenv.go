package config

import (
	"regexp"
	"strings"

	"github.com/joho/godotenv"
)

// budgetLine is a line of .env with a colon in its name, as the relay's first version had for budgets. The library reads a
// colon as the end of the name.
var budgetLine = regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?(RATE_BUDGET_[A-Za-z0-9_-]+:[^=\s]+)[ \t]*=(.*)$`)

// parseDotEnv reads NAME=value lines.
func parseDotEnv(content string) (map[string]string, error) {
	values := map[string]string{}
	for _, line := range budgetLine.FindAllStringSubmatch(content, -1) {
		one, err := godotenv.Unmarshal("VALUE=" + strings.TrimSpace(line[2]))
		if err != nil {
			return nil, err
		}
		values[line[1]] = one["VALUE"]
	}
	rest, err := godotenv.Unmarshal(budgetLine.ReplaceAllString(content, ""))
	if err != nil {
		return nil, err
	}
	for name, value := range rest {
		values[name] = value
	}
	return values, nil
}
