-- The queues of keys and conditions, and how they are served.
--
-- Invariant: a request joins the queues of all its keys in one step, so two requests have the same order
-- in every queue that they share. No request holds one key while it waits for another. So the first of
-- all requests can be served as soon as its keys are free, and there is no deadlock.

function space.free(keys)
  space.tried = {}
  for _, key in ipairs(keys) do
    space.freed[#space.freed + 1] = key
  end
end

-- Returns the prefix of the queue of a key ('k') or a condition ('c') in the index, and its range. Digits
-- follow the prefix, and ':' sorts after them.
function space.part(kind, name)
  local prefix = kind .. #name .. ':' .. name .. ':'
  return prefix, '[' .. prefix, '(' .. prefix .. ':'
end

-- The result is cached until a request leaves the queue; new requests join at its end.
function space.first(kind, name)
  if space.waiting == 0 then
    return nil
  end
  local prefix, from, to = space.part(kind, name)
  local id = space.firsts[prefix]
  if id == nil then
    local found = redis.call('ZRANGEBYLEX', space.index, from, to, 'LIMIT', 0, 1)[1]
    id = found and string.sub(found, #prefix + 17) or false
    space.firsts[prefix] = id
  end
  return id or nil
end

-- Called for a place whose request was deleted by hand. The number of its other places is unknown, and
-- too low a count of places would let new requests overtake the queue, so all are counted again.
function space.recount()
  space.firsts = {}
  space.build_index()
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
    local record = redis.call('HGET', space.state, 'request:' .. id)
    request = record and cjson.decode(record)
    space.known[id] = request
  end
  return request
end

-- Returns the places of a request in its queues, and clears the cache of their first requests.
function space.places_of(id, request)
  local order = string.rep('0', 16 - #request.order) .. request.order .. id
  local places = {}
  for i, name in ipairs(request.condition and { request.condition } or request.keys) do
    local prefix = space.part(request.condition and 'c' or 'k', name)
    places[i], space.firsts[prefix] = prefix .. order, nil
  end
  return places
end

function space.enqueue(id, request)
  redis.call('HSET', space.state, 'request:' .. id, cjson.encode(request))
  space.known[id] = request
  local places, scored = space.places_of(id, request), { 0, 'r' .. id }
  for i, place in ipairs(places) do
    scored[2 * i + 1], scored[2 * i + 2] = 0, place
  end
  redis.call('ZADD', space.index, unpack(scored))
  space.waiting = space.waiting + #places
end

function space.dequeue(id, request)
  redis.call('HDEL', space.state, 'request:' .. id)
  space.known[id] = false
  local places = space.places_of(id, request)
  redis.call('ZREM', space.index, 'r' .. id, unpack(places))
  space.waiting = math.max(0, space.waiting - #places)
end

-- Returns the records of the keys: "<request> <token>", "= <request> <token> <weight> ...", or false.
function space.holders(keys)
  local fields = {}
  for i, key in ipairs(keys) do
    fields[i] = 'lock:' .. key
  end
  return redis.call('HMGET', space.state, unpack(fields))
end

function space.is_shared(held)
  return string.byte(held) == 61
end

-- Returns the token that the request has in the record of a key, or nil.
function space.token_of(id, held)
  if not held then
    return nil
  end
  if not space.is_shared(held) then
    return string.sub(held, 1, #id + 1) == id .. ' ' and string.sub(held, #id + 2) or nil
  end
  local _, last = string.find(held, ' ' .. id .. ' ', 1, true)
  return last and string.match(held, '^%d+', last + 1)
end

-- Iterates over the requests in the record of a key.
function space.holders_in(held)
  return string.gmatch(held or '', '(%S+/%S+) %d+')
end

-- Returns whether a key with this record can be granted beside its present holders.
function space.admits(key, held, share)
  if not held and not share then
    return true
  end
  if not share or held and not space.is_shared(held) then
    return false
  end
  local limit = redis.call('HGET', space.state, 'limit:' .. key) or share.limit
  local sum = share.weight
  for weight in string.gmatch(held or '', '%S+/%S+ %d+ (%d+)') do
    sum = sum + weight
  end
  return limit + 0 == 0 or sum <= limit + 0
end

-- Returns the keys that the request holds, given the locks of all keys.
function space.held_by(id, keys, held)
  local mine = {}
  for i, key in ipairs(keys) do
    if space.token_of(id, held[i]) then
      mine[#mine + 1] = key
    end
  end
  return mine
end

-- Frees keys that the request holds.
function space.vacate(id, keys)
  local members = {}
  for i, held in ipairs(space.holders(keys)) do
    local field, rest = 'lock:' .. keys[i], nil
    if space.is_shared(held) then
      local first, last = string.find(held, ' ' .. id .. ' ', 1, true)
      last = select(2, string.find(held, '^%d+ %d+', last + 1))
      rest = string.sub(held, 1, first - 1) .. string.sub(held, last + 1)
    end
    if rest and rest ~= '=' then
      redis.call('HSET', space.state, field, rest)
    else
      redis.call('HDEL', space.state, field)
    end
    members[i] = 'h' .. id .. ' ' .. keys[i]
  end
  redis.call('ZREM', space.index, unpack(members))
  space.free(keys)
end

-- Asks processes that hand these keys over among their own tasks to give them back.
function space.revoke(holders)
  for _, held in ipairs(holders) do
    local id = held and string.match(held, '^(%S+~) ')
    if id and not space.revoked[id] then
      space.revoked[id] = true
      space.send(space.session_of(id), { 'revoke', id })
    end
  end
end

function space.unpark(id, request, notified)
  space.dequeue(id, request)
  request.order, request.condition = space.token_text(space.next_token(1)), nil
  request.notified = notified
  space.enqueue(id, request)
  space.free(request.keys)
  space.revoke(space.holders(request.keys))
end

-- Removes requests of ended sessions from the front of the queue of a key.
function space.remove_dead(key)
  local id = space.first('k', key)
  while id and not space.is_live(space.session_of(id)) do
    local request = space.request_of(id)
    if request then
      space.remove(id, request)
    else
      space.recount()
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
      space.recount()
    elseif space.is_live(space.session_of(id)) then
      space.unpark(id, request, condition)
      moved = moved + 1
    else
      space.remove(id, request)
    end
  end
  return moved
end

-- Removes a request from the queue. A notification that woke it is passed on to the next waiter.
function space.remove(id, request)
  space.dequeue(id, request)
  if not request.condition then
    space.free(request.keys)
  end
  if request.notified then
    space.notify(request.notified, 1)
  end
end

function space.end_session(session)
  local ends = space.lease_of(session)
  if ends then
    redis.call('HDEL', space.state, 'session:' .. session)
    redis.call('ZREM', space.index, space.lease_member(session, ends))
  end
  space.leases[session], space.ended = false, true
  for _, member in ipairs(space.members('h' .. session .. '/')) do
    local id, key = string.match(member, '^h(%S+) (.*)$')
    if space.token_of(id, redis.call('HGET', space.state, 'lock:' .. key)) then
      space.vacate(id, { key })
    else
      redis.call('ZREM', space.index, member)
    end
  end
  for _, member in ipairs(space.waiting > 0 and space.members('r' .. session .. '/') or {}) do
    local id = string.sub(member, 2)
    local request = space.request_of(id)
    if request then
      space.remove(id, request)
    else
      redis.call('ZREM', space.index, member)
    end
  end
end

-- Ends a session that is not live and holds a requested key. If its record is lost, its process may still
-- rely on the lease, whose length is lost too. The guard may be shorter, so the process is notified.
function space.evict(session)
  if not space.lease_of(session) then
    space.keep_guard()
    space.announce_loss()
  end
  space.end_session(session)
end

-- Returns whether one of the keys cannot be granted, and when the first lease of its holders ends. Ends
-- the sessions of holders that are not live, and then reads the records in `held` again.
function space.blockers(keys, held, share)
  local blocked, ends, evicted = false, nil, {}
  for i, key in ipairs(keys) do
    for holder in space.holders_in(not space.admits(key, held[i], share) and held[i]) do
      local session = space.session_of(holder)
      if space.is_live(session) then
        ends = math.min(ends or space.leases[session], space.leases[session])
      elseif not evicted[session] then
        evicted[session] = true
        space.evict(session)
      end
    end
  end
  for i, record in ipairs(space.holders(keys)) do
    held[i] = record
    blocked = blocked or not space.admits(keys[i], record, share)
  end
  return blocked, blocked and ends or nil
end

-- Ends the sessions whose lease has ended, and the guard; returns when the next of them ends.
function space.sweep()
  local next_end
  if space.is_guarded() then
    next_end = space.guard
  elseif space.guard > 0 then
    space.guard = 0
    for _, member in ipairs(space.waiting > 0 and space.members('r') or {}) do
      local request = space.request_of(string.sub(member, 2))
      if request and not request.condition then
        space.free(request.keys)
      end
    end
  end
  local session, ends = space.next_lease(0)
  while session and ends <= space.time do
    space.end_session(session)
    session, ends = space.next_lease(0)
  end
  if session == space.me then
    session, ends = space.next_lease(1)
  end
  return session and math.min(next_end or ends, ends) or next_end
end

function space.needs(request, keys)
  for _, key in ipairs(request and request.keys or {}) do
    if keys[key] then
      return true
    end
  end
  return false
end

-- Returns what a request is granted: token, contended, extra keys. The request is no longer in the queue.
-- An optional key is granted if it is free and its first waiter, if any, also needs one of the keys.
function space.plan(tokens, keys, optional)
  local extra = {}
  if optional and #optional > 0 then
    local taken = {}
    for _, key in ipairs(keys) do
      taken[key] = true
    end
    local held = space.holders(optional)
    for i, key in ipairs(optional) do
      local first = not held[i] and space.first('k', key)
      if not held[i] and (not first or space.needs(space.request_of(first), taken)) then
        extra[#extra + 1] = key
      end
    end
  end
  return space.next_token(tokens), space.is_contended(keys) and 1 or 0, extra
end

function space.take(id, token, keys, extra, share)
  local value, fields, members = id .. ' ' .. space.token_text(token), {}, {}
  local held = share and space.holders(keys)
  for _, list in ipairs({ keys, extra }) do
    for _, key in ipairs(list) do
      local last = #fields
      fields[last + 1], fields[last + 2] = 'lock:' .. key, value
      if share then
        local others = held[last / 2 + 1] or '='
        fields[last + 2] = others .. ' ' .. value .. ' ' .. space.token_text(share.weight)
      end
      members[last + 1], members[last + 2] = 0, 'h' .. id .. ' ' .. key
    end
  end
  redis.call('HSET', space.state, unpack(fields))
  redis.call('ZADD', space.index, unpack(members))
end

function space.grant_text(id, token, contended, extra)
  return id .. ' ' .. token .. ' ' .. contended .. (#extra > 0 and cjson.encode(extra) or '')
end

-- Serves the first request in the queue of a key; returns whether to try the next one.
function space.serve(key)
  local id = space.first('k', key)
  if not id then
    return false
  end
  local session, request = space.session_of(id), space.request_of(id)
  if not request then
    space.recount()
    return true
  end
  if space.unreachable[session] or not space.is_live(session) then
    space.remove(id, request)
    return true
  end
  if space.tried[id] then
    return false
  end
  space.tried[id] = true
  local blocked = false
  for i, held in ipairs(space.holders(request.keys)) do
    if not space.admits(request.keys[i], held, request.share) then
      blocked = true
      for holder in space.holders_in(held) do
        if not space.is_live(space.session_of(holder)) then
          space.evict(space.session_of(holder))
          return true
        end
      end
    end
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
    if space.send(session, message) == 0 then
      -- The process does not listen: it has died, or it loses its turn because it cannot be notified.
      space.unreachable[session] = true
      space.free(request.keys)
      if request.notified then
        space.notify(request.notified, 1)
      end
      return true
    end
  end
  space.take(id, token, request.keys, extra, request.share)
  if request.share then
    -- The next request in these queues may share the keys.
    space.free(request.keys)
    return true
  end
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
