// Package route is the first stage of the pipeline: it turns a request into a [Route], the pair of host and method
// that names the budgets a call draws on (R4, R7). It is pure: no network, no clock, no state that changes after [New].
//
// The path of a request to the relay is "/{host}/{path at Riot}". [Table.Split] cuts it; [Table.Match] finds the method.
// What Riot does not have is refused here, because calls to resources that don't exist count towards a blacklisting (R19).
//
// # Methods and hosts are data
//
// methods.tsv, embedded, is the table: verb, path template, service, hosts, auth. Its head comment defines the format,
// and a methods file of the user's extends or replaces it without a release (R24).
//
// # How a path is matched
//
// On its escaped bytes, as sent, segment by segment: "%2F" is part of a segment, never a separator (R23), and case counts.
// A literal is tried before a parameter; where the literal's branch dead-ends or lacks the verb, the parameter's is tried.
// A parameter takes any segment that isn't empty. One trailing slash changes nothing. The price of comparing bytes: a
// literal that arrives needlessly escaped ("%6Col" for "lol") is not that literal, and may then fill a parameter.
// Nothing is unescaped or rewritten on the way, so the caller can forward the path byte for byte.
//
// Refused with 400, whatever the options say: a path without its leading slash, an empty inner segment ("//"), a segment
// that decodes to "." or "..", control bytes (raw or escaped), a raw space, "?" or "#", a broken escape, and a verb that
// is not one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS. Everything else that doesn't match is a 404 which names
// the nearest known host or path.
package route
