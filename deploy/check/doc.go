// Package check tests what is shipped around the program: the dashboard and the
// alerts against a real scrape, compose file, image, unit, chart and release.
// It is a module of its own, since it needs Helm's and Prometheus' parsers,
// which nobody who uses the relay should have to load.
package check
