-- Charges of a window and the window itself. It mirrors limit/store_window.go line
-- by line; the names are the same.

-- Slots: n charges in all, h the last slot that was emptied, s a text of which z
-- bytes after the o-th are theirs, d what has changed since, large the counts
-- that don't fit in it; new says that the text is not the one that was read.

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
  local p = i - x.h
  if p > x.z then return 0 end
  v = byte(x.s, x.o + p)
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

-- pieces appends what the text is made of now to out, which has k of them, and
-- gives how many it has then, and the text's length.
local function pieces(x, out, k)
  local s, o, z, h = x.s, x.o, x.z, x.h
  if x.d == NONE then
    if z == 0 then return k, 0 end
    out[k + 1] = sub(s, o + 1, o + z)
    return k + 1, z
  end
  local list, n = {}, 0
  for i in pairs(x.d) do
    n = n + 1
    list[n] = i
  end
  if n > 1 then sort(list) end
  local last = 0 -- the place written last
  for j = 1, n do
    local i = list[j]
    local p = i - h
    if p > last + 1 then
      local kept = min(p - 1, z) - last
      if kept > 0 then
        k = k + 1
        out[k] = sub(s, o + last + 1, o + last + kept)
        last = last + kept
      end
      if p > last + 1 then
        k = k + 1
        out[k] = rep('\1', p - 1 - last)
      end
    end
    local v = x.d[i]
    k = k + 1
    if v < 254 then
      out[k] = char(v + 1)
      if x.large ~= NONE then x.large[i] = nil end
    else
      out[k] = '\255'
      if x.large == NONE then x.large = {} end
      x.large[i] = v
    end
    last = p
  end
  if last >= z then return k, last end
  out[k + 1] = sub(s, o + last + 1, o + z)
  return k + 1, z
end

-- settle writes what has changed into the text.
local function settle(x)
  if x.d == NONE then return end
  local out = {}
  local _, size = pieces(x, out, 0)
  x.s, x.o, x.z, x.d, x.new = concat(out), 0, size, NONE, true
end

-- pop removes the n charges that expire last, or all.
local function pop(x, n)
  settle(x)
  local i = x.h + x.z
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
local function slots(n, h, s, o, z, large, i)
  local k = i - h
  if k > 0 then
    if n > 0 and k < z then
      local gone = sub(s, o + 1, o + k)
      local p = find(gone, '[^\1]')
      while p do
        local c = byte(gone, p)
        n = n - (c == 255 and large[h + p] or c - 1)
        p = find(gone, '[^\1]', p + 1)
      end
      o, z = o + k, z - k
    else
      n = 0
    end
    h = i
  end
  if n == 0 then o, z = 0, 0 end
  return {n = n, h = h, s = s, o = o, z = z, d = NONE, new = false, large = large}
end

-- Windows. width is that of a slot.

local function slot(w, t) return quo(t, w.width) + 1 end -- one that ends after t

local function newWindow(n, length, born)
  local width = max(1, quo(length, 512))
  local h = quo(born, width)
  return {
    n = n, w = length, born = born, tat = 0, granted = 0, width = width,
    seen = 0, place = 0, last = 0, counted = 0, since = 0, calls = 0, over = 0, start = 0,
    period = 0, highs = 0, before = 0, kept = 0,
    own = slots(0, h, '', 0, 0, NONE, h), others = slots(0, h, '', 0, 0, NONE, h),
    cap = 0, step = 0, burst = 0, left = 0, spared = 0, held = 0,
  }
end

-- cap is how many calls the window is used for.
local function cap(w, level) return max(1, floor(w.n / 2 ^ level)) end

local function step(w, level) return max(1, quo(w.w * 1000, cap(w, level))) end

-- What Riot's counts tell of others: limit/store_foreign.go.

local function calm(w, now) return w.seen > 0 and now - w.seen < 10 * w.w end

local function awaited(w, now) return w.granted > w.place and now < w.start + 1500 end

local function scouted(w, now) return calm(w, now) and w.since > 0 and w.start >= w.since + w.w and awaited(w, now) end

-- keep works out how many slots normal calls leave free: memstore/kept.go.
local function keep(w, now, reserve)
  local p = quo(now, w.w)
  if p > w.period then
    w.before, w.highs, w.period = p == w.period + 1 and w.highs or 0, 0, p
  end
  w.kept = max(0, min(quo(w.cap, 50), quo(w.highs + w.before + 39, 40), w.cap - 1 - reserve))
end

-- beside returns how many more charges of normal calls fit.
local function beside(w) return min(w.left, w.spared - w.kept) - w.own.n end

local function prepare(w, now, level, share)
  w.cap, w.step, w.held = cap(w, level), step(w, level), 0
  w.spared, w.burst = w.cap - w.others.n, ceil(share * w.cap)
  w.left = w.spared
  keep(w, now, 0)
  if not calm(w, now) then return end
  local reserve = 0
  if w.over > 0 then
    local x = max(0, w.calls / w.over) / 1000 * min(now - w.counted, w.w)
    reserve = min(w.cap - 1, ceil(x + 2 * sqrt(x)))
  end
  keep(w, now, reserve)
  w.burst = 0
  if awaited(w, now) then
    w.spared = w.spared - reserve
    w.left = w.spared
  end
  if w.since == 0 then return end
  local room, over = 0, w.since + w.w
  if now < over then
    room, w.held = w.cap - w.last - max(0, w.granted - w.place) - reserve, over
  elseif scouted(w, now) then
    w.held = w.start + 1500
  else
    room, w.held = 1, now + 1500
  end
  w.left = min(w.left, w.own.n + room)
end

-- counted takes over Riot's count.
local function counted(w, now, sent, latest, n, base, used)
  local foreign = n - base - w.granted
  if foreign > 0 then w.seen = now end
  if calm(w, now) then foreign = n - used end
  foreign = min(foreign, w.n)
  if foreign > 0 then
    pop(w.others, foreign)
    add(w.others, slot(w, now + w.w), foreign)
  end
  local place, fresh = used - base, false
  if place <= w.place then return false end
  if w.place > 0 and n < quo(w.last, 2) or w.since > 0 and sent >= w.since + w.w then
    w.since, fresh = latest, true
  end
  local d = sent - w.counted
  if w.place > 0 and n >= w.last and d > 0 then
    local fade = max(0, 1 - d / w.w)
    w.calls = floor(w.calls * fade) + 1000 * (n - w.last - (place - w.place))
    w.over = floor(w.over * fade) + d
  end
  w.place, w.last, w.counted = place, n, sent
  return fresh and calm(w, now)
end

local function setLimit(w, now, n)
  if n == w.n then return false end
  local raised = n > w.n
  w.n = n
  w.tat = min(w.tat, now * 1000 + step(w, 0))
  return raised
end
