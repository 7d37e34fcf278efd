-- The state of a namespace, as one batch finds it: four keys of one hash tag, which vanish together
-- some time after the last process has fallen silent.
--
--   locks     hash   '' -> "<last token> <time> <server's clock> <guard>", key -> "<request> <token>"
--   sessions  hash   session -> "<expires> <incarnation> <ttl>"
--   queue     zset   one member for each key that a request waits for, in lexical order:
--                    "k<length>:<key>:<order, 16 digits><request>", "c..." for a condition
--   requests  hash   request -> what it waits for, in JSON
--
-- Invariant: time here is the namespace's own. It never runs backwards, and never faster than half of
-- the shortest lease per batch: a jump of the server's clock cannot end the leases of those who are
-- alive. No process ever sends its own clock.
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
space.me, space.ttl, space.incarnation, space.join, space.renew, space.listening =
  string.match(ARGV[3], '^(%S+) (%d+) (%d+) (%a+) (%d) (%d)$')
space.ttl, space.incarnation = space.ttl + 0, space.incarnation + 0

-- Tokens have 16 digits; Lua's own conversion keeps 14, which is enough for milliseconds.
function space.token_text(token)
  return string.format('%.0f', token)
end

function space.session_of(request)
  return string.match(request, '^(.-)/')
end

function space.load()
  local server = redis.call('TIME')
  space.micros = server[1] * 1000000 + server[2]
  space.seen = math.floor(space.micros / 1000)
  local clock = redis.call('HGET', space.locks, '')
  if clock then
    local token, time, seen, guard = string.match(clock, '^(%d+) (%d+) (%d+) (%d+)$')
    local step = math.max(space.seen - seen, 0)
    if step > 25 then
      -- Half of the shortest lease that is allowed; only now need it be known which there are.
      local shortest = space.ttl
      for _, record in ipairs(redis.call('HVALS', space.sessions)) do
        shortest = math.min(shortest, string.match(record, '%d+$'))
      end
      step = math.min(step, math.floor(shortest / 2))
    end
    space.token, space.time, space.guard = tonumber(token), time + step, tonumber(guard)
  else
    -- The rest may have stayed, where the server evicts keys.
    redis.call('DEL', space.sessions, space.queue, space.requests)
    space.fresh, space.token, space.time, space.guard = true, 0, space.seen, 0
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
