-- The state of a namespace, as one batch finds it: two keys of one hash tag, which vanish together
-- some time after the last process has fallen silent.
--
--   state  hash  '' -> "<last token> <time> <server's clock> <guard> <doubted> <run> <places>",
--                "lock:<key>" -> "<request> <token>"
--                "session:<session>" -> "<expires> <incarnation> <ttl> <secret>"
--                "request:<request>" -> what it waits for, in JSON
--   index  zset  what the state says, in lexical order, so that a batch finds its part without the rest:
--                ''                                        the index is complete
--                "k<length>:<key>:<order, 16 digits><request>"  a place in the queue of a key,
--                "c<length>:..."                           and of a condition
--                "e<expires, 16 digits> <session>"         the end of a lease
--                "h<request> <key>"                        a key that a request holds
--                "r<request>"                              a request that waits
--
-- Invariants:
-- - Only the state decides. It is one key, so no part of it is lost without the rest: if it is gone,
--   so is its clock, and the namespace starts over. The index is rebuilt from it whenever it is missing.
-- - Each lock, session and request has its members in the index. A member whose field was deleted by
--   hand is dropped when it is found.
-- - Time here is the namespace's own. It never goes back, and advances only as far as both the server's
--   clock has moved and the sender of a batch confirms: the sender measures with a monotonic clock how
--   much time has passed since its last reply. So a jump of the server's clock cannot end the leases
--   of live processes.
--
-- The server runs all of this anew for each batch. Everything hangs on one table, because a function
-- that captures locals costs as much to make as a command.

local space = {
  state = KEYS[1],
  index = KEYS[2],
  -- Sessions that this batch has looked at: when their lease ends, or false for one that does not
  -- exist; the highest incarnation that has spoken; and the secret that its messages are signed with.
  leases = {},
  incarnations = {},
  secrets = {},
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
space.me, space.ttl, space.incarnation, space.join = me, ttl, incarnation + 0, join
space.renew, space.vouched, space.sender_run = renew, vouched, sender_run
space.micros, space.now = micros, now

-- Tokens have 16 digits; Lua's own conversion keeps 14, which is enough for milliseconds.
function space.token_text(token)
  return string.format('%.0f', token)
end

function space.session_of(request)
  return string.match(request, '^(.-)/')
end

-- The members of the index that begin with a prefix.
function space.members(prefix)
  local after = string.char(string.byte(prefix, -1) + 1)
  local to = '(' .. string.sub(prefix, 1, -2) .. after
  return redis.call('ZRANGEBYLEX', space.index, '[' .. prefix, to)
end

function space.lease_member(session, ends)
  return string.format('e%016.0f ', ends) .. session
end

-- The longest lease that there is.
function space.longest()
  local longest = space.ttl
  for _, member in ipairs(space.members('e')) do
    local record = redis.call('HGET', space.state, 'session:' .. string.sub(member, 19))
    longest = math.max(longest, record and string.match(record, '^%d+ %d+ (%d+)') or 0)
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

-- Nothing is granted until the longest lease that may exist has expired.
function space.keep_guard()
  space.guard = math.max(space.guard, space.latest + space.longest())
end

-- Another run of the server may have read an older state: who was granted something meanwhile is not
-- in there. Through a proxy the sender's connection may be older than the run, so the server is asked.
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
    -- The index may have stayed, where the server evicts keys, and fields that were not the clock's.
    redis.call('DEL', space.state, space.index)
    space.fresh, space.token, space.time, space.guard = true, 0, space.now, 0
    space.seen, space.latest = space.now, space.now
    space.doubted, space.run, space.waiting = '0', space.sender_run, 0
  end
end

-- The index was evicted or deleted: everything in it follows from the state.
function space.build_index()
  redis.call('DEL', space.index)
  local members, all = { '' }, redis.call('HGETALL', space.state)
  space.waiting = 0
  for i = 1, #all, 2 do
    local kind, name = string.match(all[i], '^(%a+):(.*)$')
    if kind == 'lock' then
      members[#members + 1] = 'h' .. string.match(all[i + 1], '^%S+ ') .. name
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

-- The session whose lease ends first after `skipped` others, and when it ends.
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

-- Tells all processes that hold something that the server has lost what it knew; returns how many
-- connections received it. Each then asks whether its session is still known.
function space.announce_loss()
  return redis.call(space.publish, ARGV[1], cjson.encode({ 'lost' }))
end

-- Sends a message to the process of a session; returns how many connections received it. Other clients
-- may publish and subscribe in its channel: the message is signed with the session's secret, which it
-- does not contain.
function space.tell(session, message)
  if not space.lease_of(session) then
    return 0
  end
  local text, secret = cjson.encode(message), space.secrets[session]
  local channel = ARGV[1] .. string.match(session, '^(.*)%.')
  return redis.call(space.publish, channel, redis.sha1hex(secret .. text .. secret) .. text)
end
