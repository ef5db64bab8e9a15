-- BEAT: who lives, and how the keys are. It mirrors MemoryStore.Beat. The hash
-- has a field "r<replica>" with the time of its last beat, and "k<key>" with
-- whether it is suspect, and since when. ask: {lasts, replica, {key, suspect, for, …}}.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nonce = tonumber(ARGV[1])
if now > tonumber(ARGV[2]) then return {nonce, now, 0} end

local key, channel = KEYS[1], ARGV[3]
local ask = cjson.decode(ARGV[5])
local set, gone, news = {'r' .. ask[2], string.format('%.0f', now)}, {}, false
local live, rank, keys = 1, 0, {}
local LASTS = 86400000 -- how long what is said of a key is kept

local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local kind, name = string.sub(all[i], 1, 1), string.sub(all[i], 2)
  if kind == 'k' then
    if now - tonumber(string.sub(all[i + 1], 3)) >= LASTS then
      gone[#gone + 1] = all[i]
    else
      keys[name] = all[i + 1]
    end
  elseif name ~= ask[2] then
    if now - tonumber(all[i + 1]) >= ask[1] then
      gone[#gone + 1] = all[i]
    else
      live = live + 1
      if name < ask[2] then rank = rank + 1 end
    end
  end
end
for i = 1, #ask[3], 3 do
  local name, suspect = ask[3][i], ask[3][i + 1]
  local had = keys[name]
  if not had or string.sub(had, 1, 1) ~= tostring(suspect) then
    keys[name] = string.format('%d %.0f', suspect, now - math.min(ask[3][i + 2], LASTS / 2))
    set[#set + 1], set[#set + 2] = 'k' .. name, keys[name]
    news = true
  end
end
if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
redis.call('HSET', key, unpack(set))
redis.call('PEXPIRE', key, 3600000)
if news then redis.pcall('PUBLISH', channel, '*') end

local reply = {nonce, now, 1, live, rank}
for name, v in pairs(keys) do
  local suspect, since = string.match(v, '^(%d) (%d+)$')
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = name, tonumber(suspect), now - since
end
return reply
