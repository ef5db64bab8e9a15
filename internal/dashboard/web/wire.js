// The lists that the relay sends, as objects: rows.go and history.go.

export const WINDOW = ([kind, limit, window, used, others, peers, flight, reset]) => ({ kind, limit, window, used, others, peers, flight, reset });

export const POINT = ([at, over, calls, sent, ceiling, queued, oldest, flight, p50, p95, application, method, service, other, ours, retries, refused, failed]) => ({
  at, over, calls, sent, ceiling, queued, oldest, flight, p50, p95, application, method, service, other, ours, retries, refused, failed,
  limited: application + method + service + other,
});
