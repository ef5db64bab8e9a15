-- What one budget's hash holds, read and written. It mirrors limit/store_scope.go.
--
-- Fields: "l" the ledger, "a" the application's scope and "A" its charges,
-- "m<method>" and "M<method>" those of a method, "g" what was merged. Charges are a byte for each
-- slot of a window from the first that is not empty: 1 + count, 255 for 254 and
-- more, which are in the scope's list of large ones. Those of a scope are one
-- text, of which the scope says where each window's begin: what has expired is
-- left in it until something else changes.

local function newScope(now, till)
  return {
    known = 0, since = now, till = till, cause = 0, solo = 1, soloBy = 0, silent = 0, told = 0, level = 0, levelBy = 0,
    windows = {}, seats = {},
  }
end

local function byLength(a, b) return a.w < b.w end

local function findWindow(s, length)
  for _, w in ipairs(s.windows) do
    if w.w == length then return w end
  end
end

local function readLarge(n, head, p)
  if n == 0 then return NONE, p end
  local large = {}
  for _ = 1, n do
    local i, v
    i, v, p = unpackFrom(LARGE, head, p)
    large[i] = v
  end
  return large, p
end

-- readScope gives a scope with what has expired removed.
local function readScope(head, text, now)
  local known, since, till, cause, solo, soloBy, silent, told, level, levelBy, nwindows, nseats, p = unpackFrom(SCOPE, head, 1)
  if levelBy <= now then level = 0 end
  local s = {
    known = known, since = since, till = till, cause = cause, solo = solo, soloBy = soloBy, silent = silent, told = told,
    level = level, levelBy = levelBy, windows = {}, seats = {},
  }
  for i = 1, nwindows do
    local n, length, born, tat, granted, seen, place, last, counted, since, calls, over, start, period, highs, before, h, n1, o1, z1, l1, n2, o2, z2, l2
    n, length, born, tat, granted, seen, place, last, counted, since, calls, over, start, period, highs, before, h, n1, o1, z1, l1, n2, o2, z2, l2, p = unpackFrom(WINDOW, head, p)
    local large1, large2
    large1, p = readLarge(l1, head, p)
    large2, p = readLarge(l2, head, p)
    local width = max(1, quo(length, 512))
    local gone = quo(now, width)
    s.windows[i] = {
      n = n, w = length, born = born, tat = tat, granted = granted, width = width,
      seen = seen, place = place, last = last, counted = counted, since = since, calls = calls, over = over, start = start,
      period = period, highs = highs, before = before, kept = 0,
      own = slots(n1, h, text, o1, z1, large1, gone), others = slots(n2, h, text, o2, z2, large2, gone),
      cap = 0, step = 0, burst = 0, left = 0, spared = 0, held = 0, -- all at once: growing costs
    }
  end
  for i = 1, nseats do
    local name, normal, high, till, served, margin
    name, normal, high, till, served, margin, p = unpackFrom(SEAT, head, p)
    s.seats[i] = {name, normal, high, till, served, margin}
  end
  return s
end

-- begun gives what is written of slots whose text begins there: how many, where,
-- how long, and how many counts are large.
local function begun(x, begins, size)
  if x.n == 0 then
    x.large = NONE
    return 0, 0, 0, 0
  end
  local n = 0
  for i in pairs(x.large) do
    if i > x.h then n = n + 1 else x.large[i] = nil end
  end
  return x.n, begins, size, n
end

-- writeScope gives the two fields' values; no text where the one that there is
-- still holds.
local function writeScope(s, new)
  for _, w in ipairs(s.windows) do
    if w.own.new or w.own.d ~= NONE or w.others.new or w.others.d ~= NONE then new = true end
  end
  local out, k, text, o, begins = {pack(SCOPE,
    s.known, s.since, s.till, s.cause, s.solo, s.soloBy, s.silent, s.told, s.level, s.levelBy, #s.windows, #s.seats)}, 1, {}, 0, 0
  for _, w in ipairs(s.windows) do
    local own, others = w.own, w.others
    local o1, z1, o2, z2 = own.o, own.z, others.o, others.z
    if new then
      o1, z1 = begins, 0
      if own.n > 0 then o, z1 = pieces(own, text, o) end
      o2, z2 = o1 + z1, 0
      if others.n > 0 then o, z2 = pieces(others, text, o) end
      begins = o2 + z2
    end
    local l1, l2
    local n1, n2
    n1, o1, z1, l1 = begun(own, o1, z1)
    n2, o2, z2, l2 = begun(others, o2, z2)
    k = k + 1
    out[k] = pack(WINDOW, w.n, w.w, w.born, w.tat, w.granted, w.seen, w.place, w.last, w.counted, w.since, w.calls, w.over, w.start, w.period, w.highs, w.before, own.h, n1, o1, z1, l1, n2, o2, z2, l2)
    if l1 + l2 > 0 then
      for _, x in ipairs({own, others}) do
        for i, v in pairs(x.large) do
          k = k + 1
          out[k] = pack(LARGE, i, v)
        end
      end
    end
  end
  for _, x in ipairs(s.seats) do
    k = k + 1
    out[k] = pack(SEAT, #x[1], x[1], x[2], x[3], x[4], x[5], x[6])
  end
  return concat(out), new and concat(text)
end

-- The clock is the server's. Whoever is late changes nothing.
local time = redis.call('TIME')
local raw = time[1] * 1000 + floor(time[2] / 1000)
local nonce = tonumber(ARGV[1])
if raw > tonumber(ARGV[2]) then return {nonce, raw, 0} end

local key, channel, name = KEYS[1], ARGV[3], ARGV[4]
local ask = cjson.decode(ARGV[5])
local methods = ask[1]

-- Hints are advice: a user without the channel's permission does without.
local function hint(budget) redis.pcall('PUBLISH', channel, budget) end

local fields, nfields = {'l', 'a', 'A'}, 3
for _, m in ipairs(methods) do
  fields[nfields + 1], fields[nfields + 2] = 'm' .. m, 'M' .. m
  nfields = nfields + 2
end
if ask[10][1] then fields[nfields + 1] = 'g' end
local stored = redis.call('HMGET', key, unpack(fields))
local marks -- what "g" is to be, if it changes

-- The ledger: version of this layout, epoch, now, credit, when the key expires, and
-- the server's run. What another version has written is left alone until it expires.
local VERSION = 4
local fresh, ledger = not stored[1], {VERSION, raw, raw, 0, 0, ''}
if not fresh then
  local read, version = pcall(unpackFrom, '>d', stored[1], 1)
  if not read or version ~= VERSION then
    return redis.error_reply('VERSION of what is stored: ' .. (read and version or 'unknown') .. ', of this relay: ' .. VERSION)
  end
  ledger = {unpackFrom(LEDGER, stored[1], 1)}
end
local now = max(raw, ledger[3]) -- time never runs backwards
ledger[3] = now

-- A server that starts with a snapshot, and a copy that becomes the primary, lack
-- what was granted last. What is there is dropped then: replicas tell what they
-- spent. A user without the right to INFO does without.
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and match(info, 'run_id:(%x+)') or ledger[6]
if not fresh and ledger[6] ~= '' and ledger[6] ~= run then
  redis.call('PEXPIRE', key, 0)
  fresh, stored, ledger = true, {}, {VERSION, max(raw, ledger[2] + 1), now, 0, 0}
end
ledger[6] = run

local app -- the application's scope
if fresh then
  app = newScope(now, now + ask[2] + 100)
  for i = 1, #ask[3], 2 do
    local w = newWindow(ask[3][i], ask[3][i + 1], now)
    w.born = now - 1
    app.windows[#app.windows + 1] = w
  end
  sort(app.windows, byLength)
  if sub(name, 1, 1) == '|' then -- R5: calls without a key have no application
    app.known, app.solo, app.windows = 1, 0, {}
  end
  hint(string.format('%s %.0f', name, ledger[2]))
else
  app = readScope(stored[2], stored[3], now)
end
local scopes = {} -- of the methods, by their place in the ask
for i in ipairs(methods) do
  local head = not fresh and stored[2 * i + 2]
  scopes[i] = head and readScope(head, stored[2 * i + 3], now) or newScope(now, 0)
end

-- save writes everything in one command, and keeps the key for as long as
-- anything in it counts: nothing is ever decided by its absence.
local function save()
  local lasts = 0
  local values, k = {'l', ''}, 2
  local function put(s, f, g, new)
    for _, w in ipairs(s.windows) do lasts = max(lasts, w.w) end
    lasts = max(lasts, s.till - now, s.levelBy - now)
    local head, text = writeScope(s, new)
    values[k + 1], values[k + 2] = f, head
    k = k + 2
    if text then
      values[k + 1], values[k + 2] = g, text
      k = k + 2
    end
  end
  put(app, 'a', 'A', fresh)
  for i, s in ipairs(scopes) do put(s, fields[2 * i + 2], fields[2 * i + 3], not stored[2 * i + 2]) end
  lasts = lasts + 60000
  local renew = now + lasts > ledger[5]
  if renew then ledger[5] = now + lasts + 10000 end
  if marks then values[k + 1], values[k + 2] = 'g', marks end
  values[2] = pack(LEDGER, ledger[1], ledger[2], ledger[3], ledger[4], ledger[5], #run, run)
  redis.call('HSET', key, unpack(values))
  if renew then redis.call('PEXPIRE', key, lasts + 10000) end
end
