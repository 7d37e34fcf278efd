-- Who waits for what, and who is served when keys come free.
--
-- Invariant: a request joins the queues of all its keys in one step, so any two requests stand in the
-- same order in every queue that they share. The first of all can always be served when its keys are
-- free: nobody holds one key while waiting for another, and there is no deadlock.

function space.free(keys)
  space.tried = {}
  for _, key in ipairs(keys) do
    space.freed[#space.freed + 1] = key
  end
end

-- The part of the queue that belongs to a key ('k') or to a condition ('c'): what its members begin
-- with, and the range. Digits follow the prefix, and ':' comes after them.
function space.part(kind, name)
  local prefix = kind .. #name .. ':' .. name .. ':'
  return prefix, '[' .. prefix, '(' .. prefix .. ':'
end

-- What was found is kept until somebody leaves that part; whoever joins it goes to its end.
function space.first(kind, name)
  if space.waiting == 0 then
    return nil
  end
  local prefix, from, to = space.part(kind, name)
  local id = space.firsts[prefix]
  if id == nil then
    local found = redis.call('ZRANGEBYLEX', space.queue, from, to, 'LIMIT', 0, 1)[1]
    id = found and string.sub(found, #prefix + 17) or false
    space.firsts[prefix] = id
  end
  return id or nil
end

-- Drops a part whose first request the server has evicted.
function space.forget(kind, name)
  local prefix, from, to = space.part(kind, name)
  space.firsts[prefix] = nil
  space.waiting = space.waiting - redis.call('ZREMRANGEBYLEX', space.queue, from, to)
end

function space.is_contended(keys)
  if space.waiting > 0 then
    for _, key in ipairs(keys) do
      if space.first('k', key) then
        return true
      end
    end
  end
  return false
end

function space.request_of(id)
  local request = space.known[id]
  if request == nil then
    local record = redis.call('HGET', space.requests, id)
    request = record and cjson.decode(record)
    space.known[id] = request
  end
  return request
end

-- The members of the queue that belong to a request; forgets who is first in their parts.
function space.members_of(id, request)
  local order = string.rep('0', 16 - #request.order) .. request.order .. id
  local members = {}
  for i, name in ipairs(request.condition and { request.condition } or request.keys) do
    local prefix = space.part(request.condition and 'c' or 'k', name)
    members[i], space.firsts[prefix] = prefix .. order, nil
  end
  return members
end

function space.enqueue(id, request)
  -- Keys that come into being have no time to live yet.
  space.lasting = space.lasting or space.waiting == 0
  redis.call('HSET', space.requests, id, cjson.encode(request))
  space.known[id] = request
  local scored = {}
  for i, member in ipairs(space.members_of(id, request)) do
    scored[2 * i - 1], scored[2 * i] = 0, member
  end
  space.waiting = space.waiting + redis.call('ZADD', space.queue, unpack(scored))
end

function space.dequeue(id, request)
  redis.call('HDEL', space.requests, id)
  space.known[id] = false
  local members = space.members_of(id, request)
  space.waiting = space.waiting - redis.call('ZREM', space.queue, unpack(members))
end

-- Asks those for keys back who hand them over among their own tasks; `holders` is what `locks` has.
function space.revoke(holders)
  for _, held in ipairs(holders) do
    local id = held and string.match(held, '^(.*~) ')
    if id and not space.revoked[id] then
      space.revoked[id] = true
      space.tell(string.match(space.session_of(id), '^(.*)%.'), { 'revoke', id })
    end
  end
end

-- Moves a request from its condition into the queue for its keys.
function space.unpark(id, request, notified)
  space.dequeue(id, request)
  request.order, request.condition = space.token_text(space.next_token(1)), nil
  request.notified = notified
  space.enqueue(id, request)
  space.free(request.keys)
  space.revoke(redis.call('HMGET', space.locks, unpack(request.keys)))
end

-- Takes those out who stand first in the queue of a key and whose session has ended: nobody is behind
-- the dead.
function space.bury(key)
  local id = space.first('k', key)
  while id and not space.is_live(space.session_of(id)) do
    local request = space.request_of(id)
    if request then
      space.remove(id, request)
    else
      space.forget('k', key)
    end
    id = space.first('k', key)
  end
end

function space.notify(condition, count)
  local moved = 0
  while moved < count do
    local id = space.first('c', condition)
    if not id then
      break
    end
    local request = space.request_of(id)
    if not request then
      space.forget('c', condition)
    elseif space.is_live(space.session_of(id)) then
      space.unpark(id, request, condition)
      moved = moved + 1
    else
      space.remove(id, request)
    end
  end
  return moved
end

-- Takes a request out of the queue. A notification that it has swallowed goes on to the next.
function space.remove(id, request)
  space.dequeue(id, request)
  if not request.condition then
    space.free(request.keys)
  end
  if request.notified then
    space.notify(request.notified, 1)
  end
end

-- The fields of a hash in an order of their own: that of the server depends on its history.
function space.fields_of(key)
  local fields = redis.call('HKEYS', key)
  table.sort(fields)
  return fields
end

-- Ends a session and all it holds and waits for.
function space.finish(session)
  redis.call('HDEL', space.sessions, session)
  space.leases[session], space.ended = false, true
  for _, key in ipairs(space.fields_of(space.locks)) do
    if key ~= '' and space.session_of(redis.call('HGET', space.locks, key)) == session then
      redis.call('HDEL', space.locks, key)
      space.free({ key })
    end
  end
  for _, id in ipairs(space.waiting > 0 and space.fields_of(space.requests) or {}) do
    local request = space.session_of(id) == session and space.request_of(id)
    if request then
      space.remove(id, request)
    end
  end
end

-- Ends the sessions whose lease has run out, and the guard; returns when the next of them ends.
function space.sweep()
  local next_end
  if space.is_guarded() then
    next_end = space.guard
  elseif space.guard > 0 then
    space.guard = 0
    for _, id in ipairs(space.fields_of(space.requests)) do
      local request = space.request_of(id)
      space.free(request.condition and {} or request.keys)
    end
  end
  for _, session in ipairs(space.fields_of(space.sessions)) do
    -- The lease of this session may have been renewed since it was looked up.
    local ends = space.lease_of(session)
    if ends <= space.time then
      space.finish(session)
    elseif session ~= space.me then
      next_end = math.min(next_end or ends, ends)
    end
  end
  return next_end
end

-- Whether a request has one of these keys to wait for.
function space.needs(request, keys)
  for _, key in ipairs(request and request.keys or {}) do
    if keys[key] then
      return true
    end
  end
  return false
end

-- What a request is granted, which must not be in the queue any more: token, contended, extra keys.
-- The optional keys are those that nobody has and that nobody could use without one of the others.
function space.plan(tokens, keys, optional)
  local extra = {}
  if optional and #optional > 0 then
    local taken = {}
    for _, key in ipairs(keys) do
      taken[key] = true
    end
    local held = redis.call('HMGET', space.locks, unpack(optional))
    for i, key in ipairs(optional) do
      local first = not held[i] and space.first('k', key)
      if not held[i] and (not first or space.needs(space.request_of(first), taken)) then
        extra[#extra + 1] = key
      end
    end
  end
  return space.next_token(tokens), space.is_contended(keys) and 1 or 0, extra
end

function space.take(id, token, keys, extra)
  local value, fields = id .. ' ' .. space.token_text(token), {}
  for _, list in ipairs({ keys, extra }) do
    for _, key in ipairs(list) do
      fields[#fields + 1] = key
      fields[#fields + 1] = value
    end
  end
  redis.call('HSET', space.locks, unpack(fields))
end

function space.grant_text(id, token, contended, extra)
  return id .. ' ' .. token .. ' ' .. contended .. (#extra > 0 and cjson.encode(extra) or '')
end

-- Serves the first in the queue of a key; whether somebody left, so that it is worth trying again.
function space.serve(key)
  local id = space.first('k', key)
  if not id then
    return false
  end
  local session, request = space.session_of(id), space.request_of(id)
  if not request then
    space.forget('k', key)
    return false
  end
  if space.gone[session] or not space.is_live(session) then
    space.remove(id, request)
    return true
  end
  if space.tried[id] then
    return false
  end
  space.tried[id] = true
  local blocked = false
  for _, held in ipairs(redis.call('HMGET', space.locks, unpack(request.keys))) do
    if held and not space.is_live(space.session_of(held)) then
      space.finish(space.session_of(held))
      return true
    end
    blocked = blocked or held
  end
  for _, wanted in ipairs(blocked and {} or request.keys) do
    blocked = blocked or space.first('k', wanted) ~= id
  end
  if blocked then
    return false
  end
  space.dequeue(id, request)
  local token, contended, extra = space.plan(request.tokens, request.keys, request.optional)
  if session == space.me then
    space.grants[#space.grants + 1] = space.grant_text(id, space.token_text(token), contended, extra)
  else
    local message = { 'held', id, space.token_text(token), contended, unpack(extra) }
    if space.tell(string.match(session, '^(.*)%.'), message) == 0 then
      -- Nobody listens: that process is gone, or loses its turn because it cannot be told of it.
      space.gone[session] = true
      space.free(request.keys)
      if request.notified then
        space.notify(request.notified, 1)
      end
      return true
    end
  end
  space.take(id, token, request.keys, extra)
  return false
end

function space.settle()
  local i = 1
  while i <= #space.freed do
    while not space.is_guarded() and space.serve(space.freed[i]) do
    end
    i = i + 1
  end
end
