-- When to ask again for what isn't granted, and the answer. It mirrors
-- limit/store_wait.go.

-- spent gives when k of a window's charges have expired.
local function spent(w, k)
  if k <= 0 then return now end
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

-- freed gives when n charges fit in a window that they don't fit in now.
local function freed(w, n)
  local t = spent(w, n - (w.spared - w.own.n))
  if n > w.left - w.own.n then t = max(t, w.held) end
  return t
end

-- leaves returns when n charges of normal calls fit: memstore/kept.go.
local function leaves(w, n)
  local t = freed(w, n)
  if w.kept > 0 then t = max(t, min(spent(w, n - (w.spared - w.kept - w.own.n)), (w.period + 1) * w.w)) end
  return t
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
    if (paced and beside(w) or w.left - w.own.n) < 1 then
      local t = (paced and leaves or freed)(w, 1 + first)
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

local most = 0
for _, x in ipairs(app.seats) do most = max(most, x[6]) end
local reply, r = {nonce, raw, 1, ledger[2], now, most, nruns}, 7
for i = 1, ngrants do reply[r + i] = grants[i] end
r = r + ngrants
for i = 1, 2 * ndemands do reply[r + i] = waits[i] end
r = r + 2 * ndemands
local function view(s)
  local stop, cause, solo = 0, 0, s.solo
  for _, w in ipairs(s.windows) do
    if scouted(w, now) then solo = 1 end
  end
  if s.till > now and s.cause ~= 0 then stop, cause = s.till - now, s.cause end
  reply[r + 1], reply[r + 2], reply[r + 3], reply[r + 4], reply[r + 5] = s.known, solo, stop, cause, s.level
  reply[r + 6] = #s.windows
  r = r + 6
  for _, w in ipairs(s.windows) do
    reply[r + 1], reply[r + 2], reply[r + 3], reply[r + 4], reply[r + 5] = w.n, w.w, w.own.n, w.others.n, w.own.n - w.granted
    reply[r + 6] = w.left - w.own.n < 1 and max(0, freed(w, 1) - now - dueAfter) or 0
    r = r + 6
  end
end
view(app)
for i = 1, ndemands do view(asked[i]) end
save()
if news then hint(name) end
return reply
