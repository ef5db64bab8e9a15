-- MERGE: what a replica knows and has spent on its own. It mirrors
-- MemoryStore.Merge. ask: {methods, 0, {}, {scope…}}, a scope is
-- {method, stop, cause, {n, length, {age, n, …}, {age, n, …}, …}}.

for _, a in ipairs(ask[4]) do
  local s = a[1] == 0 and app or scopes[a[1]]
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
save()
return {nonce, raw, 1}
