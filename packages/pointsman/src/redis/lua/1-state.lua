-- The state of a namespace: two keys with one hash tag, which expire together some time after the last
-- batch.
--
--   state  hash  '' -> "<last token> <time> <server's clock> <guard> <doubted> <run> <places>",
--                "lock:<key>" -> "<request> <token>" if one request holds the key alone, otherwise "=" and
--                    " <request> <token> <weight>" for each request that shares it
--                "limit:<key>" -> the limit of a shared key, if it was set
--                "session:<session>" -> "<expires> <incarnation> <ttl> <secret>"
--                "request:<request>" -> the waiting request, in JSON
--   index  zset  derived from the state, in lexical order, so that a batch reads only the part it needs:
--                ''                                        the index is complete
--                "k<length>:<key>:<order, 16 digits><request>"  a place in the queue of a key
--                "c<length>:..."                           the same for a condition
--                "e<expires, 16 digits> <session>"         the end of a lease
--                "h<request> <key>"                        a key that a request holds
--                "r<request>"                              a waiting request
--
-- Invariants:
-- - The state alone is authoritative. It is one key, so it is lost as a whole, with its clock, and the
--   namespace begins anew. A missing index is rebuilt from it.
-- - Each lock, session and request has its members in the index. A member whose field was deleted by
--   hand is removed when it is read.
-- - The namespace has its own time. It never goes back, and advances only as far as the server's clock
--   has moved and the sender of a batch confirms with its monotonic clock. So a jump of the server's
--   clock cannot end the leases of live processes.
--
-- The server defines all functions again for each batch. They are fields of one table, because a
-- function that captures locals costs as much as a command.

local space = {
  state = KEYS[1],
  index = KEYS[2],
  -- The sessions read by this batch: the end of the lease, or false if the session does not exist; the
  -- highest incarnation; the secret for signing messages.
  leases = {},
  incarnations = {},
  secrets = {},
  -- The part of the queue read by this batch: the first request of each prefix, and the requests.
  firsts = {},
  known = {},
  -- Keys whose queue is served at the end of the batch, and requests that could not be granted since
  -- the last key was freed.
  freed = {},
  tried = {},
  -- Requests that were asked to give their keys back, and sessions whose process does not listen.
  revoked = {},
  unreachable = {},
  -- Requests of the sender's session granted by this batch.
  grants = {},
}

space.publish = ARGV[2]
space.me, space.join, space.renew = me, join, renew
space.confirmed, space.sender_run = confirmed + 0, sender_run
local incarnation, ttl, secret = string.match(identity, '^(%d+) (%d+) (.+)$')
space.incarnation, space.ttl = incarnation + 0, ttl + 0
space.micros, space.now = micros, now

-- Tokens have 16 digits; Lua's own conversion keeps 14, which is enough for milliseconds.
function space.token_text(token)
  return string.format('%.0f', token)
end

function space.session_of(request)
  return string.match(request, '^(.-)/')
end

function space.members(prefix)
  local after = string.char(string.byte(prefix, -1) + 1)
  local to = '(' .. string.sub(prefix, 1, -2) .. after
  return redis.call('ZRANGEBYLEX', space.index, '[' .. prefix, to)
end

function space.lease_member(session, ends)
  return string.format('e%016.0f ', ends) .. session
end

function space.longest()
  local longest = space.ttl
  for _, member in ipairs(space.members('e')) do
    local record = redis.call('HGET', space.state, 'session:' .. string.sub(member, 19))
    longest = math.max(longest, record and string.match(record, '^%d+ %d+ (%d+)') or 0)
  end
  return longest
end

-- Advances the namespace's time. The server's clock has been counted up to `seen`. A span that has
-- passed since and is not confirmed yet may be counted later, so leases begin after it.
function space.advance(seen)
  local passed = math.max(space.now - seen, 0)
  local step = math.min(passed, math.max(space.confirmed - space.time, 0))
  local rest = passed - step
  -- Whether the sender has had something to lose for a quarter of a lease. It cannot confirm an earlier
  -- span; otherwise short-lived processes could stop the time.
  local lease = space.join == 'must' and space.lease_of(space.me)
  local established = lease and lease - space.time - passed <= space.ttl * 3 / 4
  if rest > space.ttl and rest > space.longest() then
    -- No live session is silent for so long: the clock has jumped, or no session is live. The latter is
    -- certain if it happens again before a session with something to lose has sent a batch.
    if space.doubted == '1' then
      step = passed
    end
    space.doubted, rest = '1', 0
  elseif established and space.renew == '1' then
    rest = 0
  end
  if established then
    space.doubted = '0'
  end
  space.time = space.time + step
  space.seen, space.latest = space.now - rest, space.time + rest
end

-- Nothing is granted until the longest lease that may exist has expired.
function space.keep_guard()
  space.guard = math.max(space.guard, space.latest + space.longest())
end

-- Another run of the server may have loaded an older state, which lacks the latest grants. The sender's
-- connection may be to a proxy and older than the run, so the run is read from the server.
function space.check_run()
  if space.sender_run == '-' or space.sender_run == space.run then
    return
  end
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w%w%w%w%w%w%w%w)')
  if space.run ~= '-' and space.run ~= run then
    space.keep_guard()
  end
  space.run = run
end

function space.load()
  if found[1] then
    space.read_session(me, found[2])
    local pattern = '^(%d+) (%d+) (%d+) (%d+) (%d) (%S+) (%d+)$'
    local token, time, seen, guard, doubted, run, waiting = string.match(found[1], pattern)
    space.token, space.time, space.guard = tonumber(token), tonumber(time), tonumber(guard)
    space.doubted, space.run, space.waiting = doubted, run, tonumber(waiting)
    if not whole and not redis.call('ZSCORE', space.index, '') then
      space.build_index()
    end
    space.advance(tonumber(seen))
  else
    -- An eviction may have left the index; a deletion by hand, other fields.
    redis.call('DEL', space.state, space.index)
    space.fresh, space.token, space.time, space.guard = true, 0, space.now, 0
    space.seen, space.latest = space.now, space.now
    space.doubted, space.run, space.waiting = '0', space.sender_run, 0
  end
end

function space.build_index()
  redis.call('DEL', space.index)
  local members, all = { '' }, redis.call('HGETALL', space.state)
  space.waiting = 0
  for i = 1, #all, 2 do
    local kind, name = string.match(all[i], '^(%a+):(.*)$')
    if kind == 'lock' then
      for id in space.holders_in(all[i + 1]) do
        members[#members + 1] = 'h' .. id .. ' ' .. name
      end
    elseif kind == 'session' then
      members[#members + 1] = space.lease_member(name, string.match(all[i + 1], '^%d+'))
    elseif kind == 'request' then
      members[#members + 1] = 'r' .. name
      for _, place in ipairs(space.places_of(name, cjson.decode(all[i + 1]))) do
        members[#members + 1], space.waiting = place, space.waiting + 1
      end
    end
  end
  for _, member in ipairs(members) do
    redis.call('ZADD', space.index, 0, member)
  end
  redis.call('PEXPIRE', space.index, redis.call('PTTL', space.state))
end

function space.read_session(session, record)
  local ends, highest, signs = string.match(record or '', '^(%d+) (%d+) %d+ (%S+)$')
  space.leases[session] = record and tonumber(ends)
  space.incarnations[session], space.secrets[session] = tonumber(highest), signs
end

function space.lease_of(session)
  if space.leases[session] == nil then
    space.read_session(session, redis.call('HGET', space.state, 'session:' .. session))
  end
  return space.leases[session]
end

-- Returns the session whose lease ends next after `skipped` others, and the end of that lease.
function space.next_lease(skipped)
  while true do
    local range = redis.call('ZRANGEBYLEX', space.index, '[e', '(f', 'LIMIT', skipped, 1)
    local ends, session = string.match(range[1] or '', '^e(%d+) (.*)$')
    if not ends then
      return nil
    end
    if space.lease_of(session) == tonumber(ends) then
      return session, tonumber(ends)
    end
    redis.call('ZREM', space.index, range[1])
  end
end

function space.is_live(session)
  local expires = space.lease_of(session)
  return expires and expires > space.time
end

-- Whether nothing may be granted yet, because locks from before a loss of the state may still be in use.
function space.is_guarded()
  return space.guard > space.time
end

-- Returns the first of `count` new tokens. They are higher than all earlier ones, even after a loss of
-- the state, because a token is never below the server's clock in microseconds.
function space.next_token(count)
  local token = math.max(space.token + 1, space.micros)
  space.token = token + count - 1
  return token
end

-- Announces to all holders that the state was lost; returns how many connections received it. Each
-- process then asks whether its session is known.
function space.announce_loss()
  return redis.call(space.publish, ARGV[1], cjson.encode({ 'lost' }))
end

-- Sends a message to the process of a session; returns how many connections received it. It is signed,
-- because other clients may publish and subscribe in the channel.
function space.send(session, message)
  if not space.lease_of(session) then
    return 0
  end
  local text, secret = cjson.encode(message), space.secrets[session]
  local channel = ARGV[1] .. string.match(session, '^(.*)%.')
  return redis.call(space.publish, channel, redis.sha1hex(secret .. text .. secret) .. text)
end
