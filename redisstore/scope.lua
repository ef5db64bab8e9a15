-- What one budget's hash holds, read and written: the first part of admit.lua
-- and of merge.lua. It mirrors limit/store_window.go and store_scope.go line by
-- line; the names are the same.
--
-- Fields: "l" the ledger, "a" the application's scope and "A" its charges,
-- "m<method>" and "M<method>" those of a method. Charges are a byte for each
-- slot of a window from the first that is not empty: 1 + count, 255 for 254 and
-- more, which are in the scope's list of large ones.

local floor, ceil, sqrt, max, min = math.floor, math.ceil, math.sqrt, math.max, math.min
local byte, char, sub, find, rep = string.byte, string.char, string.sub, string.find, string.rep
local concat, sort = table.concat, table.sort

-- Numbers are exact: whole, and below 2^53. cmsgpack is a third of JSON's cost;
-- a server without it gets JSON.
local encode, decode
local msgpack = rawget(_G, 'cmsgpack')
if msgpack then
  encode, decode = msgpack.pack, msgpack.unpack
else
  decode = cjson.decode
  encode = function(list)
    local out = {}
    for i, v in ipairs(list) do
      out[i] = type(v) == 'number' and string.format('%.0f', v) or cjson.encode(v)
    end
    return '[' .. concat(out, ',') .. ']'
  end
end

local function quo(a, b) return floor(a / b) end -- of what is not negative

-- Slots: n charges in all, h the last slot that was emptied, s the text, d what
-- has changed since, large the counts that don't fit in it.

-- NONE stands for an empty d or large, until something is put into it: most
-- stay empty, and each table costs.
local NONE = {}

local function put(x, i, v)
  if x.d == NONE then x.d = {} end
  x.d[i] = v
end

local function count(x, i)
  local v = x.d[i]
  if v then return v end
  v = byte(x.s, i - x.h)
  if not v then return 0 end
  if v == 255 then return x.large[i] end
  return v - 1
end

local function add(x, i, n)
  if i <= x.h or n <= 0 then return end
  put(x, i, count(x, i) + n)
  x.n = x.n + n
end

local function take(x, i)
  if i <= x.h then return false end
  local c = count(x, i)
  if c == 0 then return false end
  put(x, i, c - 1)
  x.n = x.n - 1
  return true
end

-- settle writes what has changed into the text.
local function settle(x)
  if x.d == NONE then return end
  local list, k = {}, 0
  for i in pairs(x.d) do
    k = k + 1
    list[k] = i
  end
  if k > 1 then sort(list) end
  local s, h, out, o, last = x.s, x.h, {}, 0, 0
  for j = 1, k do
    local i = list[j]
    local p = i - h
    if p > last + 1 then
      local kept = sub(s, last + 1, p - 1)
      out[o + 1] = kept
      out[o + 2] = rep('\1', p - 1 - last - #kept)
      o = o + 2
    end
    local v = x.d[i]
    o = o + 1
    if v < 254 then
      out[o] = char(v + 1)
      if x.large ~= NONE then x.large[i] = nil end
    else
      out[o] = '\255'
      if x.large == NONE then x.large = {} end
      x.large[i] = v
    end
    last = p
  end
  out[o + 1] = sub(s, last + 1)
  x.s, x.d = concat(out), NONE
end

-- pop removes the n charges that expire last, or all.
local function pop(x, n)
  settle(x)
  local i = x.h + #x.s
  while n > 0 and x.n > 0 and i > x.h do
    local c = count(x, i)
    if c > 0 then
      local k = min(n, c)
      n, x.n = n - k, x.n - k
      put(x, i, c - k)
    end
    i = i - 1
  end
end

-- slots reads them, and empties those up to i.
local function slots(n, h, s, large, i)
  local k = i - h
  if k > 0 then
    h = i
    if n > 0 then
      if k >= #s then
        n = 0
      else
        local gone = sub(s, 1, k)
        local p = find(gone, '[^\1]')
        while p do
          local c = byte(gone, p)
          n = n - (c == 255 and large[i - k + p] or c - 1)
          p = find(gone, '[^\1]', p + 1)
        end
        s = sub(s, k + 1)
      end
    end
  end
  if n == 0 then s = '' end
  return {n = n, h = h, s = s, d = NONE, large = large}
end

-- Windows. width is that of a slot.

local function slot(w, t) return quo(t, w.width) + 1 end -- one that ends after t

local function newWindow(n, length, born)
  local width = max(1, quo(length, 512))
  local h = quo(born, width)
  return {
    n = n, w = length, born = born, tat = 0, granted = 0, seen = 0, counted = 0, width = width,
    own = slots(0, h, '', NONE, h), others = slots(0, h, '', NONE, h),
    cap = 0, step = 0, reserve = 0, burst = 0, left = 0,
  }
end

-- cap is how many calls the window is used for.
local function cap(w, level) return max(1, floor(w.n / 2 ^ level)) end

local function step(w, level) return max(1, quo(w.w * 1000, cap(w, level))) end

local function setLimit(w, now, n)
  if n == w.n then return false end
  local raised = n > w.n
  w.n = n
  w.tat = min(w.tat, now * 1000 + step(w, 0))
  return raised
end

-- Scopes.

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

local function readLarge(t, k)
  local n = t[k]
  if n == 0 then return NONE, k + 1 end
  local large = {}
  for i = k + 1, k + 2 * n, 2 do
    large[t[i]] = t[i + 1]
  end
  return large, k + 1 + 2 * n
end

-- readScope gives a scope with what has expired removed.
local function readScope(head, text, now)
  local t = decode(head)
  local s = {
    known = t[1], since = t[2], till = t[3], cause = t[4], solo = t[5], soloBy = t[6], silent = t[7], told = t[8],
    level = t[9], levelBy = t[10], windows = {}, seats = {},
  }
  if s.levelBy <= now then s.level = 0 end
  local k, p = 13, 1
  for i = 1, t[11] do
    local w = {
      n = t[k], w = t[k + 1], born = t[k + 2], tat = t[k + 3], granted = t[k + 4], seen = t[k + 5], counted = t[k + 6],
      width = 0, own = 0, others = 0, cap = 0, step = 0, reserve = 0, burst = 0, left = 0, -- all at once: growing costs
    }
    local width = max(1, quo(w.w, 512))
    w.width = width
    local h, now, n, size = t[k + 7], quo(now, width), t[k + 8], t[k + 9]
    local large
    large, k = readLarge(t, k + 10)
    w.own = slots(n, h, sub(text, p, p + size - 1), large, now)
    p, n, size = p + size, t[k], t[k + 1]
    large, k = readLarge(t, k + 2)
    w.others = slots(n, h, sub(text, p, p + size - 1), large, now)
    p = p + size
    s.windows[i] = w
  end
  for i = 1, t[12] do
    s.seats[i] = {t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6]}
    k = k + 7
  end
  return s
end

local function writeSlots(x, t, k)
  settle(x)
  if x.n == 0 then x.s = '' end
  t[k], t[k + 1] = x.n, #x.s
  local at, n = k + 2, 0
  k = k + 3
  for i, v in pairs(x.large) do
    if i > x.h and x.n > 0 then
      t[k], t[k + 1] = i, v
      k, n = k + 2, n + 1
    end
  end
  t[at] = n
  return k
end

-- writeScope gives the two fields' values.
local function writeScope(s)
  local t = {
    s.known, s.since, s.till, s.cause, s.solo, s.soloBy, s.silent, s.told, s.level, s.levelBy, #s.windows, #s.seats,
  }
  local k, texts, o = 13, {}, 0
  for _, w in ipairs(s.windows) do
    t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6] = w.n, w.w, w.born, w.tat, w.granted, w.seen, w.counted
    t[k + 7] = w.own.h
    k = writeSlots(w.own, t, k + 8)
    k = writeSlots(w.others, t, k)
    texts[o + 1], texts[o + 2] = w.own.s, w.others.s
    o = o + 2
  end
  for _, x in ipairs(s.seats) do
    t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6] = x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    k = k + 7
  end
  return encode(t), concat(texts)
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
local stored = redis.call('HMGET', key, unpack(fields))

-- The ledger: version of this layout, epoch, now, credit, when the key expires.
-- What another version has written is left alone until it expires.
local VERSION = 1
local ledger = stored[1] and decode(stored[1])
local fresh = not ledger
if fresh then
  ledger = {VERSION, raw, raw, 0, 0}
elseif ledger[1] ~= VERSION then
  return redis.error_reply('VERSION of what is stored: ' .. tostring(ledger[1]) .. ', of this relay: ' .. VERSION)
end
local now = max(raw, ledger[3]) -- time never runs backwards
ledger[3] = now

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
  hint('*')
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
  local values = {'l', '', 'a', '', '', ''}
  local function put(s, k, f, g)
    for _, w in ipairs(s.windows) do lasts = max(lasts, w.w) end
    lasts = max(lasts, s.till - now, s.levelBy - now)
    values[k], values[k + 2] = f, g
    values[k + 1], values[k + 3] = writeScope(s)
  end
  put(app, 3, 'a', 'A')
  for i, s in ipairs(scopes) do put(s, 4 * i + 3, fields[2 * i + 2], fields[2 * i + 3]) end
  lasts = lasts + 60000
  local renew = now + lasts > ledger[5]
  if renew then ledger[5] = now + lasts + 10000 end
  values[2] = encode(ledger)
  redis.call('HSET', key, unpack(values))
  if renew then redis.call('PEXPIRE', key, lasts + 10000) end
end
