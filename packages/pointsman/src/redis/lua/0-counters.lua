-- Counters of fixed windows, by the rules and with the names of `counters.ts`. Each counter is a string key, which expires
-- with its window. Times are milliseconds:
--
--   "<total> <began> <span>"
--
-- Invariants:
-- - A batch with counters has no other operations, and accesses no other keys.
-- - States are stored at the end of the batch, so a batch that fails has no effect.

if ARGV[3] == '#' then
  local MOST = 9007199254740991
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local lines, states = { 'done 0 0 ' .. #ARGV - 3 }, {}

  for i, text in ipairs(redis.call('MGET', unpack(KEYS, 3))) do
    local total, began, span = string.match(text or '0 0 0', '^(%d+) (%d+) (%d+)$')
    states[i] = { total = total + 0, began = math.min(began, now), span = span + 0, stored = text }
  end

  local function left_of(state)
    return state.span - (now - state.began)
  end

  for i = 4, #ARGV do
    local name, index, by, window, above, growth = string.match(ARGV[i], '^(%a+) (%d+) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
    local state = states[index + 0]
    if name == 'forget' then
      state.span, state.changed = 0, true
      lines[i - 2] = 'number 0'
    else
      by = by + 0
      if left_of(state) <= 0 then
        state.total, state.began, state.span = 0, now, by > 0 and window + 0 or 0
      end
      state.total = math.min(math.max(state.total + by, 0), MOST)
      if by > 0 and growth ~= '0' and state.total > above + 0 then
        state.began, state.span = now, math.min(window * growth ^ (state.total - above - 1), MOST)
      end
      state.changed = state.changed or by ~= 0
      lines[i - 2] = string.format('count %d %d', state.total, left_of(state))
    end
  end

  for i, state in ipairs(states) do
    local left, text = left_of(state), string.format('%d %d %d', state.total, state.began, state.span)
    if state.changed and left > 0 then
      redis.call('SET', KEYS[i + 2], text, 'PX', string.format('%d', left))
    elseif state.changed and state.stored then
      redis.call('DEL', KEYS[i + 2])
    end
  end
  return table.concat(lines, '\n')
end
