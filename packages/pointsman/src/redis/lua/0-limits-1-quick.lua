-- The starts of limiters, by the rules and with the names of `starts.ts`. Each limiter, and each key of one, is a string
-- key, which expires when none of its entries counts any more. Times are microseconds:
--
--   "<seen> <last> <offset> <until>", then for each rate a line
--   "=<name> <per> <w, or the limit of a bucket> <edge><total><entries>"
--
-- `seen` has 16 digits. With a single rate, if `last` equals `seen` and the others are 0, the first line has only `seen`.
-- An edge has 17 digits, in quarters of a microsecond. A total has 18. An entry is 16 digits of a time and 15 of a weight.
--
-- This file has the fast path: a single start, now, from one window, of a key that no other rule delays.
--
-- Invariants:
-- - The fast path has the same effect as the full path in the next files, or none; then the full path continues.
-- - Only batches with limiters define these functions. A batch with only limiters accesses no other keys.
-- - States are stored at the end of the batch, so a batch that fails has no effect.

local server = redis.call('TIME')
local micros = server[1] * 1000000 + server[2]

local limits
if #KEYS > 2 then
  local PARTS, MAX_WEIGHT, NO_EDGE = 64, 999999999999999, '00000000000000000'
  local call, ceil, max = redis.call, math.ceil, math.max
  local format, gmatch, match, sub = string.format, string.gmatch, string.match, string.sub
  local stamp = format('%016d', micros)
  -- The parsed operations `now`, by argument: most arguments of a batch are equal.
  local requests = {}

  -- The parsed states of the keys that needed the full path, and the stored texts of the others.
  local states, texts = {}, call('MGET', unpack(KEYS, 3))
  -- The time to live of each changed text.
  local lives = {}
  -- `named`: the number of keys that the operations have named.
  limits = { states = states, texts = texts, named = 0, operations = {} }

  -- Returns the refusal of a request for more than is left now, from the entry `from` on; nothing if it may wait.
  local function refuse(request, total, text, from, last)
    local left, first = total, micros
    while left + request.weight > request.limit and from < #text do
      left, first = left - sub(text, from + 16, from + 30), sub(text, from, from + 15) + request.per
      from = from + 31
    end
    local delay = first - micros
    if request.within >= 0 and delay > request.within and request.weight <= request.limit then
      limits.named = max(limits.named + 1, request.highest)
      return format('now %d %d %d', delay, max(request.limit - total, 0), last + request.per - micros)
    end
  end

  -- Returns the result of an operation `now`, or nothing if the fast path does not apply.
  function limits.start_quickly(line)
    local request = requests[line]
    if not request then
      local pattern = '^now (%S+) ([1-9]%d*) (=%S*) (%d+) (%d+) 0(.*)$'
      local within, weight, name, limit, per, others = match(line, pattern)
      if not weight or limit + 0 > MAX_WEIGHT then
        return
      end
      local prefix = '\n' .. name .. ' ' .. per .. ' w '
      request = { weight = weight + 0, limit = limit + 0, per = per + 0, prefix = prefix, others = {}, highest = 0 }
      request.within, request.head, request.edge_at = within + 0, stamp .. prefix, 17 + #prefix
      request.part = request.limit > PARTS and ceil(micros * PARTS / per)
      request.life, request.rest = format('%d', ceil(per / 1000)), per .. ' ' .. stamp
      for index in gmatch(others, '%d+') do
        request.others[#request.others + 1], request.highest = index + 0, max(request.highest, index)
      end
      requests[line] = request
    end
    local index, others, weight, per = limits.named + 1, request.others, request.weight, request.per
    if states[index] then
      return
    end
    for i = 1, #others do
      if texts[others[i]] or states[others[i]] then
        return
      end
    end
    local text, edge, total, entries, latest = texts[index], NO_EDGE, 0, '', weight
    if text then
      local at = request.edge_at
      if sub(text, 17, at - 1) ~= request.prefix or sub(text, 1, 16) + 0 > micros then
        return
      end
      local size, from, gone, since = #text, at + 35, nil, micros - per
      edge, total = sub(text, at, at + 16), sub(text, at + 17, at + 34) + 0
      if edge ~= NO_EDGE and edge / 4 > since then
        return
      end
      while from < size do
        local time = sub(text, from, from + 15) + 0
        if time > since then
          local last = sub(text, -31, -16) + 0
          if last > micros then
            return
          end
          if total + weight > request.limit then
            return refuse(request, total, text, from, last)
          end
          if last == micros or request.part and ceil(last * PARTS / per) == request.part then
            latest, size = weight + sub(text, -15), size - 31
          end
          entries = sub(text, from, size)
          break
        end
        gone, total, from = time, total - sub(text, from + 16, from + 30), from + 31
      end
      if gone then
        edge = format('%017d', max(gone * 4, edge))
      end
    end
    total = total + weight
    if total > request.limit then
      return
    end
    texts[index] = format('%s%s%018d%s%s%015d', request.head, edge, total, entries, stamp, latest)
    lives[index] = request.life
    limits.named = max(index, request.highest)
    return format('now 0 %d %s', request.limit - total, request.rest)
  end

  function limits.store()
    for index, state in pairs(states) do
      if state.changed then
        texts[index], lives[index] = limits.text_of(state)
        if not lives[index] and state.stored then
          call('DEL', KEYS[index + 2])
        end
      end
    end
    for index, life in pairs(lives) do
      call('SET', KEYS[index + 2], texts[index], 'PX', life)
    end
  end

  if ARGV[3] == '-' then
    local position, lines = 4, { '' }
    while position <= #ARGV do
      local line = limits.start_quickly(ARGV[position])
      if not line then
        break
      end
      position, lines[position - 2] = position + 1, line
    end

    function limits.argument()
      position = position + 1
      return ARGV[position - 1]
    end

    -- Runs the remaining operations.
    function limits.run()
      while position <= #ARGV do
        local name, words = match(limits.argument(), '^(%a+) (.*)$')
        lines[#lines + 1] = limits.operations[name](words)
      end
      limits.store()
      lines[1] = 'done 0 0 ' .. #lines - 1
      return table.concat(lines, '\n')
    end

    if position > #ARGV then
      return limits.run()
    end
  end
end
