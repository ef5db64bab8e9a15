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
    n = n, w = length, born = born, tat = 0, granted = 0, seen = 0, counted = 0, width = width,
    own = slots(0, h, '', 0, 0, NONE, h), others = slots(0, h, '', 0, 0, NONE, h),
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
