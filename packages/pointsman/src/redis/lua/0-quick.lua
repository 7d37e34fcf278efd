-- Reads what every batch needs, then takes a fast path for the common case: a batch with one request that
-- is granted all of its keys, or releases keys, while no other request waits for any of them.
--
-- Invariant: the fast path has the same effect as the rest of the script. Any other batch continues with
-- the rest, and nothing has been changed.
--
-- The rest takes several times as long, a quarter of it to define its functions. A pattern with numbers
-- takes longer than a command, so the fast path finds words by their place.

local me, confirmed, renew, join, sender_run, identity =
  string.match(ARGV[3], '^([^ ]+) ([^ ]+) (.) ([^ ]+) ([^ ]+) (.+)$')

local name, id, size, words = string.match(ARGV[4], '^(%a+) ([^ ]+) (%d+) ?(.*)$')
local sharing = name == 'share'
-- A mutex may request optional keys too, which the rest grants.
local alone = (sharing or name == 'unlock' or name == 'lock' and string.sub(words, 1, 2) == '0 ')
  and #ARGV == 4 + size

-- The clock, the record of the sender's session and, for a single request, the records of its keys, and
-- their limits if it shares them.
local fields, last = { '', 'session:' .. me }, 2
if alone then
  last = #ARGV - 2
  for i = 3, last do
    fields[i] = 'lock:' .. ARGV[i + 2]
    if sharing then
      fields[last + i - 2] = 'limit:' .. ARGV[i + 2]
    end
  end
end
local found = redis.call('HMGET', KEYS[1], unpack(fields))
local now = math.floor(micros / 1000)
-- Whether the index is known to be complete.
local whole = false

local clock, record = found[1], found[2]
-- Without a guard and a doubt. The token has 16 digits, and the times and the end of the lease have 13.
local tail = ' 0 0 ' .. sender_run .. ' '
if
  alone
  and renew == '0'
  and clock
  and record
  and string.sub(record, 14) == ' ' .. identity
  and string.sub(clock, 45, 44 + #tail) == tail
then
  local token, times, waiting =
    string.sub(clock, 1, 16), string.sub(clock, 17), string.sub(clock, 45 + #tail)
  local time, seen = string.sub(clock, 18, 30), string.sub(clock, 32, 44)
  local ttl = string.match(identity, ' (%d+)') + 0
  local passed, step = now - seen, 0
  if passed > 0 then
    step = math.max(0, math.min(passed, confirmed - time))
    if step > 0 then
      time, seen = string.format('%.0f', time + step), string.format('%.0f', seen + step)
      times = ' ' .. time .. ' ' .. seen .. tail .. waiting
    end
  end
  local left = string.sub(record, 1, 13) - time - (passed - step)
  local done = string.format('done %d ', left) .. time .. ' 1\n'
  local served = passed >= 0 and passed - step <= ttl and left >= ttl * 2 / 3

  -- What becomes of the records; a record is removed if this is false.
  local records, weight, limit = {}, nil, nil
  if sharing then
    weight, limit, words = string.match(words, '^(%d+) (%d+) (.*)$')
  end
  for i = 3, last do
    local held = found[i]
    local shared = held and string.byte(held) == 61
    if name == 'unlock' then
      local first, after
      if shared then
        first, after = string.find(held, ' ' .. id .. ' ', 1, true)
      end
      if first then
        after = select(2, string.find(held, '^%d+ %d+', after + 1))
        local others = string.sub(held, 1, first - 1) .. string.sub(held, after + 1)
        records[i] = others ~= '=' and others
      else
        -- A request that holds only some of its keys may be in the queue.
        served = served and held and string.sub(held, 1, #id + 1) == id .. ' '
      end
    elseif held then
      served = served and sharing and shared and not string.find(held, ' ' .. id .. ' ', 1, true)
      records[i] = held
    end
    local most = sharing and (found[last + i - 2] or limit) + 0 or 0
    if served and most > 0 then
      local sum = weight + 0
      for other in string.gmatch(held or '', ' [^ ]+ %d+ (%d+)') do
        sum = sum + other
      end
      served = sum <= most
    end
  end
  if served and waiting ~= '0' then
    -- A request that is parked at a condition is granted nothing.
    served = name == 'unlock' or redis.call('HEXISTS', KEYS[1], 'request:' .. id) == 0
    for i = 5, #ARGV do
      local prefix = 'k' .. #ARGV[i] .. ':' .. ARGV[i] .. ':'
      local before =
        redis.call('ZREVRANGEBYLEX', KEYS[2], '(' .. prefix .. ':', '-', 'LIMIT', 0, 1)[1]
      whole = whole or before
      served = served and before and string.sub(before, 1, #prefix) ~= prefix
    end
  end
  if served and name == 'unlock' then
    local members, changed, removed = {}, {}, {}
    for i = 3, last do
      members[i - 2] = 'h' .. id .. ' ' .. ARGV[i + 2]
      if records[i] then
        changed[#changed + 1], changed[#changed + 2] = fields[i], records[i]
      else
        removed[#removed + 1] = fields[i]
      end
    end
    if step > 0 then
      changed[#changed + 1], changed[#changed + 2] = '', token .. times
    end
    if #changed > 0 then
      redis.call('HSET', KEYS[1], unpack(changed))
    end
    if #removed > 0 then
      redis.call('HDEL', KEYS[1], unpack(removed))
    end
    redis.call('ZREM', KEYS[2], unpack(members))
    return done .. 'number ' .. size
  end
  if served then
    local tokens = string.match(sharing and words or string.sub(words, 3), '^%d+')
    -- The server's clock in digits, unless it is not ahead of the last token.
    local granted, text = micros, server[1] .. string.sub('00000', #server[2]) .. server[2]
    if token + 1 > granted then
      granted = token + 1
      text = string.format('%.0f', granted)
    end
    local highest = tokens == '1' and text or string.format('%.0f', granted + tokens - 1)
    local value = id .. ' ' .. text
    local values, members = { '', highest .. times }, { 0, '' }
    for i = 3, last do
      values[2 * i - 3] = fields[i]
      values[2 * i - 2] = sharing and (records[i] or '=') .. ' ' .. value .. ' ' .. weight or value
      members[2 * i - 3], members[2 * i - 2] = 0, 'h' .. id .. ' ' .. ARGV[i + 2]
    end
    redis.call('HSET', KEYS[1], unpack(values))
    if redis.call('ZADD', KEYS[2], unpack(members)) > last - 2 then
      -- The empty member is new, so the index was lost. The next batch rebuilds it.
      redis.call('DEL', KEYS[2])
    end
    return done .. 'held ' .. value .. ' 0'
  end
end
