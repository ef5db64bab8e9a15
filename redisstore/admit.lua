-- ADMIT: one indivisible step for one replica and budget. It mirrors
-- ledger.admit and what it calls, in the same order with the same rounding.
-- ask: {methods, margin, assumed, replica, burst, trip, horizon, demands, done,
-- facts}; scopes are places in methods, 0 the application's.

local replica, burst, horizon = ask[4], ask[5], now + ask[7]
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
local list = ask[9]
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

local function learnLimits(s, sent, f, quick)
  local busiest, raised = 0, false
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
    local told = quota(f[6], length)
    local w = findWindow(s, length)
    if w then
      if current and setLimit(w, now, n) then raised = true end
      local base = quota(f[7], length)
      if told and base and (quick or now - sent <= w.w) then
        w.counted = max(w.counted, sent)
        local foreign = min(told - base - w.granted, w.n)
        if foreign > 0 then
          pop(w.others, foreign)
          add(w.others, slot(w, now + w.w), foreign)
          w.seen = now
        end
      end
    elseif current then
      w = newWindow(n, length, now)
      add(w.own, slot(w, now + w.w), min(max(told or 0, busiest), n))
      w.counted = sent
      s.windows[#s.windows + 1] = w
    end
  end
  sort(s.windows, byLength)
  return raised
end

-- What answers taught: {method, ago, passed, counted, limits, counts, bases, stop, cause, level}.
local function learn(s, f)
  local sent, told = now - f[2], false
  if #f[5] > 0 then
    told = learnLimits(s, sent, f, f[2] <= margin)
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
for _, f in ipairs(ask[10]) do
  if learn(f[1] == 0 and app or scopes[f[1]], f) then news = true end
end

-- From here on limits stand: what follows from them is worked out once.
local function prepare(s)
  for _, w in ipairs(s.windows) do
    local calm = w.seen > 0 and now - w.seen < 10 * w.w
    w.cap, w.step = cap(w, s.level), step(w, s.level)
    w.reserve, w.burst = 0, 0
    if calm then
      local x = w.others.n * min(now - w.counted, w.w) / w.w
      w.reserve = min(w.n - 1, ceil(x + 2 * sqrt(x)))
    else
      w.burst = ceil(burst * w.cap)
    end
    w.left = w.cap - w.others.n - w.reserve -- for own
  end
end
prepare(app)
for _, s in ipairs(scopes) do prepare(s) end

-- Seats: {replica, wants of normal, of high, until, served, margin, trip}.
local NORMAL, HIGH, TILL, SERVED = 2, 3, 4, 5

local function claims(x) return x[TILL] > now and x[NORMAL] + x[HIGH] > 0 end

local function seat(s, wants)
  local kept, me = {}, nil
  for _, x in ipairs(s.seats) do
    if x[TILL] + 10000 > now then
      kept[#kept + 1] = x
      if x[1] == replica then me = x end
    end
  end
  if not me then
    me = {replica, 0, 0, 0, 0, 0, 0}
    kept[#kept + 1] = me
  end
  s.seats = kept
  if wants and not claims(me) then
    local least, most
    for _, x in ipairs(kept) do
      most = max(most or 0, x[SERVED])
      if claims(x) and (not least or x[SERVED] < least) then least = x[SERVED] end
    end
    me[SERVED] = max(me[SERVED], min(least or most, most))
  end
  return me
end

local function wanted(s, me, class)
  local n = 0
  for _, x in ipairs(s.seats) do
    if x ~= me and x[TILL] > now then n = n + x[class] end
  end
  return n
end

-- share gives how much of room is the replica's own: so much that what it and the
-- others have had, when all who want some are brought up to its level, makes up
-- the room.
local function share(s, me, class, room)
  local want = me[class]
  if room <= 0 or want == 0 then return 0 end
  local function poured(level)
    local n = 0
    for _, x in ipairs(s.seats) do
      if (x == me or x[TILL] > now) and level > x[SERVED] then n = n + min(level - x[SERVED], x[class]) end
    end
    return n
  end
  local low, high, had = 0, min(want, room), me[SERVED]
  while low < high do
    local n = quo(low + high, 2)
    if poured(had + n) < room then low = n + 1 else high = n end
  end
  return low
end

local slack = (margin + 20) * 1000
local dueAfter = 1000 + margin

local function free(s)
  if s.till > horizon then return 0 end
  local n = 1000
  if s.solo == 1 then
    if s.soloBy > now then return 0 end
    n = 1
  end
  for _, w in ipairs(s.windows) do n = min(n, w.left - w.own.n) end
  return max(0, n)
end

local function room(s, paced)
  local n = free(s)
  if not paced or n == 0 then return n end
  for _, w in ipairs(s.windows) do
    local from = max(now, s.till) * 1000
    if w.tat > from - slack then from = w.tat end
    local slots, d = 0, horizon * 1000 - from
    if d >= 0 then slots = quo(d, w.step) + 1 end
    if w.tat == 0 then slots = max(slots, 1) end
    n = min(n, max(slots, w.burst - w.own.n))
  end
  return max(0, n)
end

-- The demands: {method, normal, high, …}.
local demands = ask[8]
local ndemands = #demands / 3
local normals, highs = 0, 0
for i = 1, #demands, 3 do normals, highs = normals + demands[i + 1], highs + demands[i + 2] end
local me = seat(app, normals + highs > 0)
me[NORMAL], me[HIGH], me[6], me[7] = normals, highs, margin, ask[6]
local asked, seats = {}, {}
for i = 1, ndemands do
  local k = 3 * i - 2
  local s = scopes[demands[k]]
  asked[i] = s
  local x = seat(s, demands[k + 1] + demands[k + 2] > 0)
  x[NORMAL], x[HIGH] = demands[k + 1], demands[k + 2]
  seats[i] = x
end

-- grants are runs of permits with the same start: {demand, high, start, due, count, …}.
local grants, ngrants, nruns = {}, 0, 0

-- next gives when the next call may start, and how many may at once.
local function nextStart(s, at, paced, most)
  at = max(at, s.till * 1000)
  if paced then
    for _, w in ipairs(s.windows) do
      if w.own.n < w.burst then
        most = min(most, w.burst - w.own.n)
      else
        most = 1
        if w.tat > at then at = w.tat end
      end
    end
  end
  return at, most
end

-- charge charges n calls that start at.
local function charge(s, at, due, n)
  for _, w in ipairs(s.windows) do
    local tat, left, t = w.tat, n, w.step
    while left > 0 do
      local late = at - tat
      if tat > 0 and late >= 0 and late <= slack then
        tat, left = tat + t, left - 1
      else
        tat, left = at + t, 0 -- and so for all that follow: they are early
      end
    end
    w.tat = tat
    w.granted = w.granted + n
    add(w.own, slot(w, due + w.w), n)
  end
  if s.solo == 1 then s.soloBy = ceil(at / 1000) + 1500 end
end

-- grant gives up to that many permits to demand i, and how many it gave.
local function grant(i, class, paced, most)
  local s, seat = asked[i], seats[i]
  most = min(most, free(app), free(s))
  local got = 0
  while got < most do
    local at, n = nextStart(app, now * 1000, paced, most - got)
    at, n = nextStart(s, at, paced, n)
    if at > horizon * 1000 then break end
    local due = ceil(at / 1000) + dueAfter
    charge(app, at, due, n)
    charge(s, at, due, n)
    me[class], me[SERVED] = me[class] - n, me[SERVED] + n
    seat[class], seat[SERVED] = seat[class] - n, seat[SERVED] + n
    grants[ngrants + 1], grants[ngrants + 2], grants[ngrants + 3] = i - 1, class - NORMAL, at - now * 1000
    grants[ngrants + 4], grants[ngrants + 5] = due, n
    ngrants, nruns, got = ngrants + 5, nruns + 1, got + n
  end
  return got
end

-- inTurn shares n out one by one in turn, none having more than its most.
local function inTurn(n, most)
  local shares = {}
  for i in ipairs(most) do shares[i] = 0 end
  while n > 0 do
    local had = n
    for i, k in ipairs(most) do
      if n > 0 and shares[i] < k then shares[i], n = shares[i] + 1, n - 1 end
    end
    if had == n then break end
  end
  return shares
end

local function serveClass(class, most, leave, paced)
  if me[class] == 0 then return 0 end
  local granted = 0
  local quota = min(most, share(app, me, class, room(app, paced) - leave))
  if quota <= 0 then return 0 end
  local mine = {}
  for i = 1, ndemands do
    local s, seat = asked[i], seats[i]
    mine[i] = 0
    if seat[class] > 0 then
      local open = room(s, paced)
      if class == NORMAL and paced then open = open - wanted(s, seat, HIGH) end
      mine[i] = share(s, seat, class, open)
    end
  end
  while quota > 0 do
    local had = granted
    local shares = ndemands == 1 and {min(quota, mine[1])} or inTurn(quota, mine)
    for i, n in ipairs(shares) do
      local got = grant(i, class, paced, n)
      mine[i] = mine[i] - got
      if got < n then mine[i] = 0 end
      quota, granted = quota - got, granted + got
    end
    if granted == had then break end
  end
  return granted
end

-- High goes first, but normal's twentieth.
local FAIR = 19
local others = wanted(app, me, NORMAL)
local normal = me[NORMAL] + others > 0
if not normal then ledger[4] = 0 end
local owed = quo(ledger[4], FAIR)
if me[NORMAL] > 0 then
  if owed > 0 then ledger[4] = ledger[4] - FAIR * serveClass(NORMAL, owed, 0, false) end
  owed = quo(ledger[4], FAIR)
end
local n = serveClass(HIGH, 1000, min(owed, others), false)
if normal then ledger[4] = min(ledger[4] + n, 1000) end
serveClass(NORMAL, 1000, wanted(app, me, HIGH), true)

-- freed gives when n charges fit in a window that they don't fit in now.
local function freed(w, n)
  local k = n - (w.left - w.own.n)
  local own, others, h = w.own, w.others, w.own.h
  if others.n == 0 then
    settle(own)
    local o = own.o
    local p = find(own.s, '[^\1]', o + 1)
    while p and p <= o + own.z do
      k = k - count(own, h + p - o)
      if k <= 0 then return (h + p - o) * w.width end
      p = find(own.s, '[^\1]', p + 1)
    end
  else
    settle(own)
    settle(others)
    for i = h + 1, h + max(own.z, others.z) do
      k = k - count(own, i) - count(others, i)
      if k <= 0 then return i * w.width end
    end
  end
  return now + w.w
end

-- The kinds of wait: charges 1, pace 2, stop 3, alone 4, share 5.
local half = floor((horizon - now) / 2)

-- ahead counts the grants that others have a claim to before this replica's
-- next one of the class.
local function ahead(s, me, class)
  local even, high = 0, 0
  for _, x in ipairs(s.seats) do
    if x ~= me and x[TILL] > now then
      local d = me[SERVED] - x[SERVED]
      if x[1] < replica then d = d + 1 end
      even, high = even + min(max(0, d), x[class]), high + x[HIGH]
    end
  end
  return class == HIGH and even or even + min(high, FAIR)
end

local function blocked(s, me, class)
  local at, why, first, paced = now, 0, ahead(s, me, class), class == NORMAL
  if s.till > horizon then at, why = s.till, 3 end
  if s.solo == 1 and s.soloBy > at then at, why = s.soloBy, 4 end
  for _, w in ipairs(s.windows) do
    if w.left - w.own.n < 1 then
      local t = freed(w, 1 + first)
      if t > at then at, why = t, 1 end
    end
    if paced and w.own.n >= w.burst then
      local from = max(now * 1000, w.tat)
      local t = quo(from + first * w.step, 1000)
      if t > horizon and t - half > at then at, why = t - half, quo(from, 1000) > horizon and 2 or 5 end
    end
  end
  return at, why
end

local function turns(s, paced)
  local at, nextSlot = now + 1000, 0
  for _, scope in ipairs({app, s}) do
    local first = 0
    for _, x in ipairs(scope.seats) do
      if x[1] ~= replica and claims(x) and (first == 0 or x[TILL] < first) then first = x[TILL] end
    end
    if first > 0 then at = min(at, first) end
    if paced then
      for _, w in ipairs(scope.windows) do
        if w.tat > 0 then nextSlot = max(nextSlot, w.tat + w.step) end
      end
    end
  end
  return min(at, max(quo(nextSlot, 1000) - half, now + half))
end

local waits = {}
for i = 1, ndemands do
  local x = seats[i]
  local wait, why = 0, 0
  if x[NORMAL] + x[HIGH] > 0 then
    local class = x[HIGH] == 0 and NORMAL or HIGH
    local at
    at, why = blocked(app, me, class)
    local t, kind = blocked(asked[i], x, class)
    if t > at then at, why = t, kind end
    if at <= now then at, why = turns(asked[i], class == NORMAL), 5 end
    wait = min(max(at - now, 1), 1000)
  end
  waits[2 * i - 1], waits[2 * i] = wait, why
end
me[TILL], me[NORMAL], me[HIGH] = now, 0, 0
for i = 1, ndemands do
  local till = now
  local wait = waits[2 * i - 1]
  if wait > 0 then till = now + wait + (horizon - now) + 20 end
  local x = seats[i]
  x[TILL] = till
  me[TILL] = max(me[TILL], till)
  -- What the method holds back, for others too, has no claim to the
  -- application's room: who is first there and who is first here would wait for
  -- each other.
  local s = asked[i]
  if x[NORMAL] > 0 then me[NORMAL] = me[NORMAL] + share(s, x, NORMAL, room(s, true)) end
  if x[HIGH] > 0 then me[HIGH] = me[HIGH] + share(s, x, HIGH, room(s, false)) end
end

local most, least = 0, 0
for _, x in ipairs(app.seats) do
  most = max(most, x[6])
  if x[7] > 0 and (least == 0 or x[7] < least) then least = x[7] end
end
local reply, r = {nonce, raw, 1, ledger[2], now, most, least, nruns}, 8
for i = 1, ngrants do reply[r + i] = grants[i] end
r = r + ngrants
for i = 1, 2 * ndemands do reply[r + i] = waits[i] end
r = r + 2 * ndemands
local function view(s)
  local stop, cause = 0, 0
  if s.till > now and s.cause ~= 0 then stop, cause = s.till - now, s.cause end
  reply[r + 1], reply[r + 2], reply[r + 3], reply[r + 4], reply[r + 5] = s.known, s.solo, stop, cause, s.level
  reply[r + 6] = #s.windows
  r = r + 6
  for _, w in ipairs(s.windows) do
    reply[r + 1], reply[r + 2], reply[r + 3], reply[r + 4], reply[r + 5] = w.n, w.w, w.own.n, w.others.n, w.own.n - w.granted
    r = r + 5
  end
end
view(app)
for i = 1, ndemands do view(asked[i]) end
save()
if news then hint(name) end
return reply
