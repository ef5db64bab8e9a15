// Package config turns a command line, the environment and two optional files into typed settings.
//
// # One declaration
//
// Each setting is declared once, in [declare]: its name, default, allowed values, help and what reads it. The flags, the
// help text, docs/settings.md and .env.example are made from that; a test holds the files to it (go test
// ./internal/config -update writes them). To add a setting, add a declaration and a field of [Settings].
//
// # Where a value comes from
//
// The first of these that has one: a flag, the environment, the file .env in the working directory, the YAML file that
// CONFIG_FILE names, the default. An empty value in the environment or a file is no value, because `NAME: ${NAME:-}` in a
// compose file means "not set"; ADMIN_ADDR is the exception, where empty means "none". The environment is an argument,
// and nothing here changes it.
//
// # What is wrong is said at once
//
// [Parse] reports every wrong setting, a line each: name, value, what is allowed, where it was set. The value of a key is
// never part of a message; keys are called by name or place, and settings print with their keys hidden.
package config
