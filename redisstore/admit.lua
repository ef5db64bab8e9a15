-- What is granted: see report.lua. It mirrors limit/store_ledger.go and
-- store_share.go.

-- From here on limits stand: what follows from them is worked out once.
local function ready(s)
  for _, w in ipairs(s.windows) do prepare(w, now, s.level, burst) end
end
ready(app)
for _, s in ipairs(scopes) do ready(s) end

-- Seats: {replica, wants of normal, of high, until, served, margin}.
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
    me = {replica, 0, 0, 0, 0, 0}
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
    n = min(n, beside(w))
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
local demands = ask[7]
local ndemands = #demands / 3
local normals, highs = 0, 0
for i = 1, #demands, 3 do normals, highs = normals + demands[i + 1], highs + demands[i + 2] end
local me = seat(app, normals + highs > 0)
me[NORMAL], me[HIGH], me[6] = normals, highs, margin
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
local function charge(s, at, due, n, high)
  for _, w in ipairs(s.windows) do
    if high then w.highs = w.highs + n end
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
    w.start = max(w.start, ceil(at / 1000))
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
    charge(app, at, due, n, class == HIGH)
    charge(s, at, due, n, class == HIGH)
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
