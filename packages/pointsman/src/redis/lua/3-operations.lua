-- The operations of a batch, in the order of the arguments.
--
-- Invariant: each may be sent again after a lost reply. A request is identified by its id, so the second
-- copy finds the effect of the first.

local position = 4

local function argument()
  position = position + 1
  return ARGV[position - 1]
end

local function list(size)
  local items = {}
  for i = 1, size + 0 do
    items[i] = argument()
  end
  return items
end

local operations = limits and limits.operations or {}
if limits then
  limits.argument = argument
end

-- Locks all of the keys for a request, or queues it; `share` is how it shares them, if it does.
local function lock(id, keys, optional, tokens, wait, share)
  local held = space.holders(keys)
  local mine = space.held_by(id, keys, held)
  local extra = #optional > 0 and space.held_by(id, optional, space.holders(optional)) or {}
  if #mine == #keys then
    local contended = space.is_contended(keys) and 1 or 0
    return 'held ' .. space.grant_text(id, space.token_of(id, held[1]), contended, extra)
  end

  -- A key of the lock was deleted by hand: the rest of the lock is useless.
  for _, rest in ipairs({ mine, extra }) do
    if #rest > 0 then
      space.vacate(id, rest)
      held = space.holders(keys)
    end
  end

  local blocked, ends = space.blockers(keys, held, share)

  if space.waiting == 0 or redis.call('HEXISTS', space.state, 'request:' .. id) == 0 then
    for _, key in ipairs(space.waiting > 0 and keys or {}) do
      space.remove_dead(key)
    end
    if not blocked and not space.is_guarded() and not space.is_contended(keys) then
      local token, contended, extra = space.plan(tokens + 0, keys, optional)
      space.take(id, token, keys, extra, share)
      return 'held ' .. space.grant_text(id, space.token_text(token), contended, extra)
    end
    if wait == '0' then
      return 'busy'
    end
    local order = space.token_text(space.next_token(1))
    local request = { order = order, tokens = tokens + 0, keys = keys, share = share }
    if #optional > 0 then
      request.optional = optional
    end
    space.enqueue(id, request)
    space.revoke(held)
  end
  -- Earlier requests may have been removed, and a holder may have ended without a release.
  for i, key in ipairs(keys) do
    if not held[i] or space.is_shared(held[i]) then
      space.free({ key })
    end
  end
  if space.is_guarded() then
    ends = math.min(ends or space.guard, space.guard)
  end
  return ends and 'queued ' .. ends - space.time or 'queued'
end

-- id, number of keys, number of optional keys, tokens, whether to wait; keys, optional keys
function operations.lock(words)
  local id, size, more, tokens, wait = string.match(words, '^(%S+) (%d+) (%d+) (%d+) (%d)$')
  return lock(id, list(size), list(more), tokens, wait)
end

-- id, number of keys, weight, limit, tokens, whether to wait; keys
function operations.share(words)
  local pattern = '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$'
  local id, size, weight, limit, tokens, wait = string.match(words, pattern)
  return lock(id, list(size), {}, tokens, wait, { weight = weight + 0, limit = limit + 0 })
end

-- id, number of keys; keys
function operations.downgrade(words)
  local id, size = string.match(words, '^(%S+) (%d+)$')
  local keys, alone = list(size), {}
  for i, held in ipairs(space.holders(keys)) do
    if held and not space.is_shared(held) and space.token_of(id, held) then
      redis.call('HSET', space.state, 'lock:' .. keys[i], '= ' .. held .. ' 1')
      alone[#alone + 1] = keys[i]
    end
  end
  space.free(alone)
  return 'number ' .. #alone
end

-- limit; key
function operations.limit(limit)
  local key = argument()
  redis.call('HSET', space.state, 'limit:' .. key, limit)
  space.free({ key })
  return 'number ' .. limit
end

-- id, number of keys; keys
function operations.unlock(words)
  local id, size = string.match(words, '^(%S+) (%d+)$')
  local keys = list(size)
  local mine = space.held_by(id, keys, space.holders(keys))
  if #mine > 0 then
    space.vacate(id, mine)
  end
  -- A request that holds all of its keys is not in the queue.
  local request = #mine < #keys and space.waiting > 0 and space.request_of(id)
  if request then
    space.remove(id, request)
  end
  return 'number ' .. #mine
end

-- id, token, number of keys; keys
function operations.take(words)
  local id, token, size = string.match(words, '^(%S+) (%d+) (%d+)$')
  local keys = list(size)
  local taken = {}
  for i, held in ipairs(space.holders(keys)) do
    if space.token_of(id, held) == token then
      taken[#taken + 1] = keys[i]
    end
  end
  if #taken > 0 then
    space.vacate(id, taken)
    space.send(space.session_of(id), { 'taken', id, token })
  end
  return 'number ' .. #taken
end

-- id, number of keys; keys
function operations.check(words)
  local id, size = string.match(words, '^(%S+) (%d+)$')
  local keys = list(size)
  if #space.held_by(id, keys, space.holders(keys)) < #keys then
    return 'check 0 0'
  end
  return space.is_contended(keys) and 'check 1 1' or 'check 1 0'
end

-- id, number of keys; keys, condition
function operations.wait(words)
  local id, size = string.match(words, '^(%S+) (%d+)$')
  local keys, condition = list(size), argument()
  local known = redis.call('HEXISTS', space.state, 'request:' .. id) == 1
  if known or space.token_of(id, space.holders({ keys[1] })[1]) then
    return 'number 0'
  end
  local order = space.token_text(space.next_token(1))
  space.enqueue(id, { order = order, tokens = 1, keys = keys, condition = condition })
  return 'number 1'
end

-- id
function operations.wake(id)
  local request = space.request_of(id)
  if not request or not request.condition then
    return 'number 0'
  end
  space.unpark(id, request)
  return 'number 1'
end

-- count; condition
function operations.notify(count)
  return 'number ' .. space.notify(argument(), count + 0)
end

-- count
function operations.reserve(count)
  return 'number ' .. space.token_text(space.next_token(count + 0))
end

-- ids; for each a key, then a start: it has no effect unless each request holds its key
function operations.held(ids)
  local is_held = true
  for id in string.gmatch(ids, '%S+') do
    is_held = space.token_of(id, space.holders({ argument() })[1]) and is_held
  end
  local start = string.sub(argument(), 7)
  if is_held then
    return operations.start(start)
  end
  local look = string.gsub(start, '^(%S+ %d+ %d+) %d', '%1 1')
  return (string.gsub(operations.start(look), '^start %d', 'start 0'))
end

function operations.renew()
  local next_end = space.sweep()
  return next_end and 'renewed ' .. next_end - space.time or 'renewed'
end

-- session
function operations.leave(session)
  space.end_session(session)
  return 'number 0'
end

function operations.query()
  local all, found = redis.call('HGETALL', space.state), { lock = {}, request = {} }
  for i = 1, #all, 2 do
    local kind, name = string.match(all[i], '^(%a+):(.*)$')
    local list = found[kind or 'clock']
    if list then
      list[#list + 1] = name
      list[#list + 1] = all[i + 1]
    end
  end
  return 'query ' .. cjson.encode({ found.lock, found.request })
end

space.load()
local lease = space.lease_of(me)
if lease and space.incarnation < space.incarnations[me] then
  return 'stale'
end
if join == 'must' and not space.is_live(me) then
  return 'lost'
end

if space.fresh then
  -- The namespace is new unless the server has lost its state; then earlier locks may still be in use.
  local holders = space.announce_loss()
  local uptime = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%-?%d+)') * 1000
  if join == 'again' or holders > 0 or uptime < space.ttl then
    space.guard = space.latest + space.ttl
  end
else
  space.check_run()
  if lease and lease <= space.time then
    space.end_session(me)
    lease = false
  end
end
local renewing = space.renew == '1'
  or not lease
  or space.incarnation > space.incarnations[me]
  or lease - space.latest < space.ttl * 2 / 3
if renewing then
  if lease then
    redis.call('ZREM', space.index, space.lease_member(me, lease))
  end
  local ends = space.latest + space.ttl
  redis.call('HSET', space.state, 'session:' .. me, ends .. ' ' .. identity)
  redis.call('ZADD', space.index, 0, space.lease_member(me, ends))
  space.leases[me], space.secrets[me] = ends, secret
end

local results = {}
while position <= #ARGV do
  local name, words = string.match(argument(), '^(%a+) ?(.*)$')
  results[#results + 1] = operations[name](words)
end
space.settle()
if limits then
  limits.store()
end

local ahead = math.max(0, space.token - space.micros) / 1000
if space.ended and ahead == 0 and space.guard == 0 and not space.next_lease(0) then
  redis.call('DEL', space.state, space.index)
else
  local times = space.time .. ' ' .. space.seen .. ' ' .. space.guard
  local rest = space.doubted .. ' ' .. space.run .. ' ' .. space.waiting
  local clock = space.token_text(space.token) .. ' ' .. times .. ' ' .. rest
  redis.call('HSET', space.state, '', clock)
  if space.fresh then
    redis.call('ZADD', space.index, 0, '')
  end
  if renewing then
    -- The keys do not expire before the server's clock has passed the last token.
    local life = math.ceil(3 * space.ttl + ahead)
    for _, key in ipairs({ KEYS[1], KEYS[2] }) do
      if redis.call('PTTL', key) < life then
        redis.call('PEXPIRE', key, life)
      end
    end
  end
end

local left = (space.leases[me] or space.latest) - space.latest
local lines = { 'done ' .. left .. ' ' .. space.time .. ' ' .. #results }
for _, part in ipairs({ results, space.grants }) do
  for _, line in ipairs(part) do
    lines[#lines + 1] = line
  end
end
return table.concat(lines, '\n')
