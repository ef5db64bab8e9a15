-- MERGE: what a replica knows and has spent on its own, taken over once. It mirrors
-- limit/store_merge.go. ask[10]: {} or {process, number, epoch, {scope…}}, a scope is
-- {method, stop, cause, {n, length, {age, n, …}, {age, n, …}, …}}. The field "g" has
-- the marks: the last number of each process, and when.

local function mergeScope(s, a)
  local list = a[4]
  for i = 1, #list, 4 do
    local n, length = list[i], list[i + 1]
    local w = findWindow(s, length)
    if not w and s.known == 0 then
      w = newWindow(n, length, now)
      s.windows[#s.windows + 1] = w
    end
    if w then
      if s.known == 0 then w.n = n end
      for k, x in ipairs({w.own, w.others}) do
        local charges = list[i + 1 + k]
        for c = 1, #charges, 2 do
          add(x, slot(w, now - charges[c] + w.w), charges[c + 1])
          if k == 1 then w.granted = w.granted + charges[c + 1] end
        end
      end
    end
  end
  sort(s.windows, byLength)
  local till = now + a[2] + 1
  if a[2] > 0 and till > s.till then s.till, s.cause = till, a[3] end
end

-- mark notes a merge, and reports whether it is new.
local function mark(process, number)
  local text, kept, p, new = stored[#fields], {}, 1, true
  while text and p <= #text do
    local process2, number2, at
    process2, number2, at, p = unpackFrom(MARK, text, p)
    if at + 86400000 > now then
      if process2 == process then
        if number <= number2 then return false end
      else
        kept[#kept + 1] = pack(MARK, process2, number2, at)
      end
    end
  end
  marks = concat(kept) .. pack(MARK, process, number, now)
  return true
end

local merge = ask[10]
if merge[1] and (merge[3] == 0 or merge[3] == ledger[2]) and mark(merge[1], merge[2]) then
  for _, a in ipairs(merge[4]) do mergeScope(a[1] == 0 and app or scopes[a[1]], a) end
end
