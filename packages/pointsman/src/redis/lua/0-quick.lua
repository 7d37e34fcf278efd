-- Reads what every batch needs, then takes a fast path for the common case: a batch with one request
-- that finds all of its keys free, or releases keys, while no other request waits for any of them.
--
-- Invariant: the fast path has the same effect as the rest of the script. Any other batch continues
-- with the rest, and nothing has been changed.
--
-- The rest takes twice the time, a quarter of it to define its functions.

local header = '^(%S+) (%d+) (%d+) (%a+) (%d) (%d+) (%S+) (%S+)$'
local me, ttl, incarnation, join, renew, confirmed, sender_run, secret = string.match(ARGV[3], header)
ttl = ttl + 0

local name, id, size, more, tokens = string.match(ARGV[4], '^(%a+) (%S+) (%d+) ?(%d*) ?(%d*)')
local alone = (name == 'lock' and more == '0' or name == 'unlock') and #ARGV == 4 + size

-- The clock, the record of the sender's session and, for a single request, the locks of its keys.
local fields = { '', 'session:' .. me }
for i = 5, alone and #ARGV or 0 do
  fields[i - 2] = 'lock:' .. ARGV[i]
end
local found = redis.call('HMGET', KEYS[1], unpack(fields))
local now = math.floor(micros / 1000)
-- Whether the index is known to be complete.
local whole = false

local token, times, time, seen, guard, run, waiting
local expires, highest
if alone and renew == '0' and found[1] and found[2] then
  local clock = '^(%d+)( (%d+) (%d+) (%d+) 0 (%S+) (%d+))$'
  token, times, time, seen, guard, run, waiting = string.match(found[1], clock)
  expires, highest = string.match(found[2], '^(%d+) (%d+) ')
end
if token and highest == incarnation and run == sender_run then
  local passed = math.max(now - seen, 0)
  local step = math.min(passed, math.max(confirmed - time, 0))
  local rest = passed - step
  -- Formatting a number takes as long as a command, so it is skipped while the time has not moved.
  local moved = step > 0 or now - rest < seen + 0
  if moved then
    time = string.format('%.0f', time + step)
    times = string.format(' %s %.0f %s 0 %s %s', time, now - rest, guard, run, waiting)
  end
  local left = expires - time - rest
  local served = rest <= ttl and left >= ttl * 2 / 3
  local held, wanted = 0, #found - 2
  for i = 3, #found do
    if found[i] then
      held = held + (string.sub(found[i], 1, #id + 1) == id .. ' ' and 1 or wanted + 1)
    end
  end
  if name == 'lock' then
    served = served and held == 0 and guard + 0 <= time + 0
  else
    -- A request that holds only some of its keys may be in the queue.
    served = served and held == wanted
  end
  if served and waiting ~= '0' then
    for i = 5, #ARGV do
      local prefix = 'k' .. #ARGV[i] .. ':' .. ARGV[i] .. ':'
      local last =
        redis.call('ZREVRANGEBYLEX', KEYS[2], '(' .. prefix .. ':', '-', 'LIMIT', 0, 1)[1]
      whole = whole or last
      served = served and last and string.sub(last, 1, #prefix) ~= prefix
    end
  end
  if served and name == 'unlock' then
    local members = {}
    for i = 5, #ARGV do
      members[i - 4] = 'h' .. id .. ' ' .. ARGV[i]
    end
    redis.call('HDEL', KEYS[1], unpack(fields, 3))
    redis.call('ZREM', KEYS[2], unpack(members))
    if moved then
      redis.call('HSET', KEYS[1], '', token .. times)
    end
    return 'done ' .. left .. ' ' .. time .. ' 1\nnumber ' .. held
  end
  if served then
    local granted = math.max(token + 1, micros)
    local text = string.format('%.0f', granted)
    local last = tokens == '1' and text or string.format('%.0f', granted + tokens - 1)
    local values, value, members = {}, id .. ' ' .. text, { 0, '' }
    for i = 5, #ARGV do
      values[2 * i - 9], values[2 * i - 8] = fields[i - 2], value
      members[2 * i - 7], members[2 * i - 6] = 0, 'h' .. id .. ' ' .. ARGV[i]
    end
    redis.call('HSET', KEYS[1], '', last .. times, unpack(values))
    if redis.call('ZADD', KEYS[2], unpack(members)) > wanted then
      -- The empty member is new, so the index was lost. The next batch rebuilds it.
      redis.call('DEL', KEYS[2])
    end
    return 'done ' .. left .. ' ' .. time .. ' 1\nheld ' .. value .. ' 0'
  end
end
