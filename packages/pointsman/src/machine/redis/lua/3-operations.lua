-- The operations of a batch, in the order in which they stand in the arguments.
--
-- Invariant: each may be sent again after a lost answer. A request is known by its id, and the second
-- time finds what the first has done.

local position = 10

local function argument()
  position = position + 1
  return ARGV[position - 1]
end

local function list()
  local items = {}
  for i = 1, tonumber(argument()) do
    items[i] = argument()
  end
  return items
end

local function holds(id, held)
  return held and string.sub(held, 1, #id + 1) == id .. ' '
end

local operations = {}

-- id, tokens, whether to wait, keys, optional keys
function operations.lock()
  local id, tokens, wait = argument(), tonumber(argument()), argument() == '1'
  local keys, optional = list(), list()
  local held = redis.call('HMGET', space.locks, unpack(keys))
  if holds(id, held[1]) then
    local extra = {}
    for _, key in ipairs(optional) do
      if redis.call('HGET', space.locks, key) == held[1] then
        extra[#extra + 1] = key
      end
    end
    local contended = space.is_contended(keys) and 1 or 0
    return { 'held', id, string.sub(held[1], #id + 2), contended, extra }
  end

  local blocked, ends = false, nil
  for i = 1, #keys do
    local session = held[i] and space.session_of(held[i])
    if session and space.is_live(session) then
      blocked, ends = true, math.min(ends or space.leases[session], space.leases[session])
    elseif session then
      space.finish(session)
      held[i] = false
    end
  end

  if space.waiting == 0 or redis.call('HEXISTS', space.requests, id) == 0 then
    if not blocked and not space.is_guarded() and not space.is_contended(keys) then
      local token, contended, extra = space.plan(tokens, keys, optional)
      space.take(id, token, keys, extra)
      return { 'held', id, space.token_text(token), contended, extra }
    end
    if not wait then
      return { 'busy' }
    end
    local request = { order = space.token_text(space.next_token(1)), tokens = tokens, keys = keys }
    if #optional > 0 then
      request.optional = optional
    end
    space.enqueue(id, request)
    for i, key in ipairs(keys) do
      if not held[i] then
        -- Those in front may be gone.
        space.free({ key })
      end
    end
    if blocked then
      space.revoke(keys)
    end
  end
  if space.is_guarded() then
    ends = math.min(ends or space.guard, space.guard)
  end
  return { 'queued', ends and ends - space.time .. '' or '' }
end

-- id, keys
function operations.unlock()
  local id, keys = argument(), list()
  local mine = {}
  for i, held in ipairs(redis.call('HMGET', space.locks, unpack(keys))) do
    if holds(id, held) then
      mine[#mine + 1] = keys[i]
    end
  end
  if #mine > 0 then
    redis.call('HDEL', space.locks, unpack(mine))
    space.free(mine)
  end
  local request = space.waiting > 0 and space.request_of(id)
  if request then
    space.remove(id, request)
  end
  return { 'number', #mine }
end

-- id, keys
function operations.check()
  local id, keys = argument(), list()
  for _, held in ipairs(redis.call('HMGET', space.locks, unpack(keys))) do
    if not holds(id, held) then
      return { 'check', 0, 0 }
    end
  end
  return { 'check', 1, space.is_contended(keys) and 1 or 0 }
end

-- id, condition, keys
function operations.wait()
  local id, condition, keys = argument(), argument(), list()
  local known = redis.call('HEXISTS', space.requests, id) == 1
  if known or holds(id, redis.call('HGET', space.locks, keys[1])) then
    return { 'number', 0 }
  end
  local order = space.token_text(space.next_token(1))
  space.enqueue(id, { order = order, tokens = 1, keys = keys, condition = condition })
  return { 'number', 1 }
end

-- id
function operations.wake()
  local id = argument()
  local request = space.request_of(id)
  if not request or not request.condition then
    return { 'number', 0 }
  end
  space.unpark(id, request)
  return { 'number', 1 }
end

-- condition, count
function operations.notify()
  local condition, count = argument(), tonumber(argument())
  return { 'number', space.notify(condition, count) }
end

-- how many
function operations.reserve()
  return { 'number', space.token_text(space.next_token(tonumber(argument()))) }
end

function operations.renew()
  local next_end = space.sweep()
  return { 'renewed', next_end and next_end - space.time .. '' or '' }
end

-- session
function operations.leave()
  space.finish(argument())
  return { 'number', 0 }
end

function operations.query()
  return { 'query', redis.call('HGETALL', space.locks), redis.call('HGETALL', space.requests) }
end

local me, ttl, incarnation, join, renew = space.me, space.ttl, ARGV[6] + 0, ARGV[7], ARGV[8] == '1'

space.load()
local lease = space.lease_of(me)
if lease and incarnation < space.incarnations[me] then
  return { 'stale' }
end
if join == 'must' and not space.is_live(me) then
  return { 'lost' }
end

if space.fresh then
  -- New, or lost by the server? Locks from before may still be in use.
  local others = redis.call(ARGV[2], ARGV[1], cjson.encode({ 'lost' })) - ARGV[9]
  local uptime = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)') * 1000
  if join == 'again' or others > 0 or uptime < ttl then
    space.guard = space.time + ttl
  end
elseif lease and lease <= space.time then
  space.finish(me)
  lease = false
end
local renewing = renew
  or not lease
  or incarnation > space.incarnations[me]
  or lease - space.time < ttl * 2 / 3
if renewing then
  space.leases[me] = space.time + ttl
  redis.call('HSET', space.sessions, me, space.leases[me] .. ' ' .. ARGV[6])
end

local results = {}
while position <= #ARGV do
  results[#results + 1] = operations[argument()]()
end
space.settle()

local ahead = math.max(0, space.token - space.micros) / 1000
if space.ended and ahead == 0 and space.guard == 0 and redis.call('EXISTS', space.sessions) == 0 then
  redis.call('DEL', space.locks, space.queue, space.requests)
else
  local times = space.time .. ' ' .. space.seen .. ' ' .. space.guard
  redis.call('HSET', space.locks, '', space.token_text(space.token) .. ' ' .. times)
  if renewing or space.lasting then
    -- Not before the server's clock has come after the last token.
    local life = math.ceil(3 * ttl + ahead)
    for _, key in ipairs(KEYS) do
      if redis.call('PTTL', key) < life then
        redis.call('PEXPIRE', key, life)
      end
    end
  end
end

local left = (space.leases[me] or space.time) - space.time
return { 'done', left .. '', space.seen .. '', results, space.grants }
