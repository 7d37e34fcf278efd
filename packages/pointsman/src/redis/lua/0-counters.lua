-- Counters of fixed windows, by the rules of `counters.ts`, whose words this uses. Each is a string of its own, which
-- expires with its window. Times are milliseconds:
--
--   "<total> <began> <span>"
--
-- Invariants:
-- - A batch with counters has nothing else, and reads and writes nothing else.
-- - A state is stored at the end of the batch, so that a batch that fails has no effect on it.

if ARGV[3] == '#' then
  local MOST = 9007199254740991
  local max, min, match, format = math.max, math.min, string.match, string.format
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local lines, states, changed = { 'done 0 0 ' .. #ARGV - 3 }, {}, {}
  local texts = redis.call('MGET', unpack(KEYS, 3))

  for i, text in ipairs(texts) do
    states[i] = { total = 0, began = now, span = 0, stored = text }
    if text then
      local total, began, span = match(text, '^(%d+) (%d+) (%d+)$')
      states[i].total, states[i].began, states[i].span = total + 0, min(began, now), span + 0
    end
  end

  for i = 4, #ARGV do
    local name, index, by, window, above, growth = match(ARGV[i], '^(%a+) (%d+) ?(%-?%d*) ?(%d*) ?(%d*) ?(%d*)$')
    index = index + 0
    local state = states[index]
    local live = state.span - (now - state.began) > 0
    if name == 'forget' then
      lines[i - 2] = 'number 0'
      state.total, state.span, changed[index] = 0, 0, true
    elseif not live and by + 0 <= 0 then
      lines[i - 2] = 'count 0 0'
    else
      if not live then
        state.total, state.began, state.span = 0, now, window + 0
      end
      state.total = min(max(state.total + by, 0), MOST)
      if by + 0 > 0 and growth ~= '0' and state.total > above + 0 then
        state.began, state.span = now, min(window * growth ^ (state.total - above - 1), MOST)
      end
      if by ~= '0' then
        changed[index] = true
      end
      lines[i - 2] = format('count %d %d', state.total, state.span - (now - state.began))
    end
  end

  for index in pairs(changed) do
    local state, key = states[index], KEYS[index + 2]
    local left = state.span - (now - state.began)
    if left > 0 then
      local text = format('%d %d %d', state.total, state.began, state.span)
      redis.call('SET', key, text, 'PX', format('%d', left))
    elseif state.stored then
      redis.call('DEL', key)
    end
  end
  return table.concat(lines, '\n')
end
