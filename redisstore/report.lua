-- ADMIT: one indivisible step for one replica and budget, of which merge.lua is the
-- first part, this one, what is reported, the second, admit.lua the third and wait.lua
-- the last. It mirrors ledger.admit and what it calls, in the same order with the same
-- rounding. ask: {methods, margin, assumed, replica, burst, horizon, demands,
-- done, facts, merge}; scopes are places in methods, 0 the application's.

local replica, burst, horizon = ask[4], ask[5], now + ask[6]
local margin = ask[2]
local news = false

-- What became of permits: {method, at, due, unsent, ago, …}.
local function done(s, at, due, unsent, ago)
  for _, w in ipairs(s.windows) do
    if at > w.born then -- else the window is younger than the permit
      local had = take(w.own, slot(w, due + w.w))
      if unsent == 0 then
        add(w.own, slot(w, now - ago + w.w), 1)
      elseif had then
        w.granted = w.granted - 1
      end
    end
  end
  if unsent == 1 and at >= s.since then s.soloBy = 0 end
end
local list = ask[8]
for i = 1, #list, 5 do
  done(app, list[i + 1], list[i + 2], list[i + 3], list[i + 4])
  done(scopes[list[i]], list[i + 1], list[i + 2], list[i + 3], list[i + 4])
end

-- quota gives the number that a list has for a window.
local function quota(numbers, length)
  for i = 1, #numbers, 2 do
    if numbers[i + 1] == length then return numbers[i] end
  end
end

-- basis gives what a list has for a window: base and used.
local function basis(list, length)
  for i = 1, #list, 3 do
    if list[i] == length then return list[i + 1], list[i + 2] end
  end
end

local function learnLimits(s, sent, f)
  local busiest, told = 0, false
  local quick, latest = f[2] <= margin, min(now, sent + margin)
  for _, w in ipairs(s.windows) do busiest = max(busiest, w.own.n) end
  local current = sent >= s.told
  if current then
    s.told = sent
    local kept = {}
    for _, w in ipairs(s.windows) do
      if quota(f[5], w.w) then kept[#kept + 1] = w end
    end
    s.windows = kept
  end
  for i = 1, #f[5], 2 do
    local n, length = f[5][i], f[5][i + 1]
    local n1 = quota(f[6], length)
    local w = findWindow(s, length)
    if w then
      if current and setLimit(w, now, n) then told = true end
      local base, used = basis(f[7], length)
      if n1 and base and (quick or now - sent <= w.w) and counted(w, now, sent, latest, n1, base, used) then told = true end
    elseif current then
      w = newWindow(n, length, now)
      add(w.own, slot(w, now + w.w), min(max(n1 or 0, busiest), n))
      w.counted = sent
      s.windows[#s.windows + 1] = w
    end
  end
  sort(s.windows, byLength)
  return told
end

-- What answers taught: {method, ago, passed, counted, limits, counts, bases, stop, cause, level}.
local function learn(s, f)
  local sent, told = now - f[2], false
  if #f[5] > 0 then
    told = learnLimits(s, sent, f)
    s.known, s.silent = 1, 0
  elseif f[4] == 1 and s.known == 0 then
    s.silent = s.silent + 1
    if s.silent >= 3 then s.known = 1 end
  end
  if f[10] > 0 and f[10] >= s.level then s.level, s.levelBy = f[10], now + 300000 end
  if f[8] > 0 then
    local till = now + f[8] + 1
    if till > s.till then s.till, s.cause = till, f[9] end
    s.solo, s.soloBy, s.since = 1, 0, now
    return true
  end
  if sent >= s.since then
    told = told or s.solo == 1
    s.soloBy = 0
    if f[3] == 1 and s.known == 1 then s.solo = 0 end
  end
  return told
end
for _, f in ipairs(ask[9]) do
  if learn(f[1] == 0 and app or scopes[f[1]], f) then news = true end
end
