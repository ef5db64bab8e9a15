-- LAYOUTS: which layouts of budgets are in use, and whether another is than the
-- asker's. The hash has a field for each layout, with when it was last heard of.
-- name: the asker's; ask: how long one is reckoned with, in ms.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nonce = tonumber(ARGV[1])
if now > tonumber(ARGV[2]) then return {nonce, now, 0} end

local key, channel, layout, lasts = KEYS[1], ARGV[3], ARGV[4], tonumber(ARGV[5])
local apart, known, gone = 0, false, {}
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local lives = now - tonumber(all[i + 1]) < lasts
  if all[i] == layout then
    known = lives
  elseif lives then
    apart = 1
  else
    gone[#gone + 1] = all[i]
  end
end
if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
redis.call('HSET', key, layout, string.format('%.0f', now))
redis.call('PEXPIRE', key, 3600000)
if apart == 1 and not known then redis.pcall('PUBLISH', channel, '*') end
return {nonce, now, 1, apart}
