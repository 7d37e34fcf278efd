-- The state of a namespace, as one batch finds it: four keys of one hash tag, which vanish together
-- some time after the last process has fallen silent.
--
--   locks     hash   '' -> "<last token> <time> <server's clock> <guard> <doubted> <run>",
--                    key -> "<request> <token>"
--   sessions  hash   session -> "<expires> <incarnation> <ttl>"
--   queue     zset   one member for each key that a request waits for, in lexical order:
--                    "k<length>:<key>:<order, 16 digits><request>", "c..." for a condition
--   requests  hash   request -> what it waits for, in JSON
--
-- Invariant: time here is the namespace's own. It never runs backwards, and goes on only as far as the
-- server's clock has moved and the sender of a batch vouches for: so much time has passed, by a
-- monotonic clock, since it was last told the time. So a jump of the server's clock cannot end the
-- leases of those who are alive.
--
-- The server runs all of this anew for each batch. Everything hangs on one table, because a function
-- that captures locals costs as much to make as a command.

local space = {
  locks = KEYS[1],
  sessions = KEYS[2],
  queue = KEYS[3],
  requests = KEYS[4],
  -- Sessions that this batch has looked at: when their lease ends, or false for one that does not
  -- exist; and the highest incarnation that has spoken.
  leases = {},
  incarnations = {},
  -- What this batch knows of the queue: who is first in a part of it, and the requests.
  firsts = {},
  known = {},
  -- Keys whose queue may have somebody to serve; the end of the batch goes through them. Requests
  -- that were tried since the last key was freed, in vain.
  freed = {},
  tried = {},
  -- Requests that were asked to give their keys back, and sessions whose process does not listen.
  revoked = {},
  gone = {},
  -- Requests of this session that were granted while the batch was applied.
  grants = {},
}

space.publish = ARGV[2]
local header = '^(%S+) (%d+) (%d+) (%a+) (%d) (%d+) (%S+)$'
space.me, space.ttl, space.incarnation, space.join, space.renew, space.vouched, space.sender_run =
  string.match(ARGV[3], header)
space.ttl, space.incarnation = space.ttl + 0, space.incarnation + 0

-- Tokens have 16 digits; Lua's own conversion keeps 14, which is enough for milliseconds.
function space.token_text(token)
  return string.format('%.0f', token)
end

function space.session_of(request)
  return string.match(request, '^(.-)/')
end

-- The longest lease that there is.
function space.longest()
  local longest = space.ttl
  for _, record in ipairs(redis.call('HVALS', space.sessions)) do
    longest = math.max(longest, string.match(record, '%d+$'))
  end
  return longest
end

-- Moves time on. `seen` is the server's clock up to where it has been counted. What passed since then
-- and nobody has vouched for yet may still be counted: leases begin after it.
function space.advance(seen)
  local passed = math.max(space.now - seen, 0)
  local step = math.min(passed, math.max(space.vouched - space.time, 0))
  local rest = passed - step
  -- Whether the sender had something to lose for a quarter of a lease. Of what was before it began it
  -- cannot speak: processes that come and go would keep time from ever going on.
  local lease = space.join == 'must' and space.lease_of(space.me)
  local lived = lease and lease - space.time - passed <= space.ttl * 3 / 4
  if rest > space.ttl and rest > space.longest() then
    -- Longer than anybody who is alive is silent: the clock has jumped, or nobody is alive. If it was
    -- so before, and nobody with something to lose has spoken since, nobody is.
    if space.doubted == '1' then
      step = passed
    end
    space.doubted, rest = '1', 0
  elseif lived and space.renew == '1' then
    rest = 0
  end
  if lived then
    space.doubted = '0'
  end
  space.time = space.time + step
  space.seen, space.latest = space.now - rest, space.time + rest
end

-- Another run of the server may have read an older state: who was granted something meanwhile is not
-- in there. Through a proxy the sender's connection may be older than the run, so the server is asked.
function space.check_run()
  if space.sender_run == '-' or space.sender_run == space.run then
    return
  end
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w%w%w%w%w%w%w%w)')
  if space.run ~= '-' and space.run ~= run then
    space.guard = math.max(space.guard, space.latest + space.longest())
  end
  space.run = run
end

function space.load()
  local server = redis.call('TIME')
  space.micros = server[1] * 1000000 + server[2]
  space.now = math.floor(space.micros / 1000)
  local clock = redis.call('HGET', space.locks, '')
  if clock then
    local pattern = '^(%d+) (%d+) (%d+) (%d+) (%d) (%S+)$'
    local token, time, seen, guard, doubted, run = string.match(clock, pattern)
    space.token, space.time, space.guard = tonumber(token), tonumber(time), tonumber(guard)
    space.doubted, space.run = doubted, run
    space.advance(tonumber(seen))
  else
    -- The rest may have stayed, where the server evicts keys.
    redis.call('DEL', space.sessions, space.queue, space.requests)
    space.fresh, space.token, space.time, space.guard = true, 0, space.now, 0
    space.seen, space.latest = space.now, space.now
    space.doubted, space.run = '0', space.sender_run
  end
  space.waiting = redis.call('ZCARD', space.queue)
end

function space.lease_of(session)
  local expires = space.leases[session]
  if expires == nil then
    local record = redis.call('HGET', space.sessions, session)
    local ends, incarnation = string.match(record or '', '^(%d+) (%d+) ')
    expires = record and tonumber(ends)
    space.leases[session], space.incarnations[session] = expires, tonumber(incarnation)
  end
  return expires
end

function space.is_live(session)
  local expires = space.lease_of(session)
  return expires and expires > space.time
end

-- Whether nothing is granted yet: locks from before the state was lost may still be in use.
function space.is_guarded()
  return space.guard > space.time
end

-- A number that is higher than all before it, first of `count`; also across a loss of the state, as it
-- is never behind the server's clock in microseconds.
function space.next_token(count)
  local token = math.max(space.token + 1, space.micros)
  space.token = token + count - 1
  return token
end

-- Tells one process, or all; how many were listening.
function space.tell(process, message)
  return redis.call(space.publish, ARGV[1] .. process, cjson.encode(message))
end
