-- The starts of limiters, by the rules of `starts.ts`, whose words this uses. Each limiter, and each key of it, is a
-- string of its own, which expires when nothing in it counts any more. Times are microseconds:
--
--   "<seen> <offset> <last> <until>", then for each rate a line
--   "=<name> <per> <limit> <w or b> <edge> <total> <entries>", an entry being 16 digits of a time and 15 of a weight; the edge is in quarters
--
-- Invariants:
-- - Only batches with limiters define these functions. A batch that has nothing else reads and writes nothing else.
-- - A state is stored at the end of the batch, so that a batch that fails has no effect on it.

local server = redis.call('TIME')
local micros = server[1] * 1000000 + server[2]

local limits
if #KEYS > 2 then
  local ENTRY, AHEAD, PARTS, MAX_WEIGHT, MAX_LOGS, LATEST = 31, 50000, 64, 999999999999999, 16, 9e15
  local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
  local format, match, sub = string.format, string.match, string.sub
  local states, rates_of, delayed = {}, {}, {}
  limits = { operations = {} }

  -- The states of all keys of the batch.
  local texts = redis.call('MGET', unpack(KEYS, 3))

  local function set_entries(log, entries)
    log.size = #entries / ENTRY
    if log.size > 0 then
      log.last, log.weight = sub(entries, -ENTRY, -16) + 0, sub(entries, -15) + 0
    end
    log.entries = sub(entries, 1, -ENTRY - 1)
  end

  -- A log keeps its last entry apart, which most starts change: its text has the others.
  local function read(index)
    local state = states[index]
    if state then
      return state
    end
    state = { seen = 0, offset = 0, last = 0, until_ = 0, logs = {} }
    states[index] = state
    local text = texts[index]
    if text then
      local line = '(=%S*) (%d+) (%d+) ([wb]) (%d+) (%d+) (%d*)'
      local function put(name, per, limit, kind, edge, total, entries)
        local log = { name = name, per = per + 0, limit = limit + 0, kind = kind, edge = edge / 4, total = total + 0 }
        set_entries(log, entries)
        state.logs[#state.logs + 1] = log
      end
      -- Most keys have one rate.
      local seen, offset, last, until_, name, per, limit, kind, edge, total, entries, rest =
        match(text, '^(%d+) (%d+) (%d+) (%d+)\n' .. line .. '(.*)$')
      if not seen then
        seen, offset, last, until_ = match(text, '^(%d+) (%d+) (%d+) (%d+)$')
      else
        put(name, per, limit, kind, edge, total, entries)
        if rest ~= '' then
          for n, p, l, k, e, t, x in string.gmatch(rest, '\n' .. line) do
            put(n, p, l, k, e, t, x)
          end
        end
      end
      state.seen, state.offset, state.last, state.until_ = seen + 0, offset + 0, last + 0, until_ + 0
      state.stored = true
    end
    state.time = max(micros + state.offset, state.seen)
    return state
  end

  local function time_of(log, i)
    return i == log.size and log.last or sub(log.entries, ENTRY * i - 30, ENTRY * i - 15) + 0
  end

  local function weight_of(log, i)
    return i == log.size and log.weight or sub(log.entries, ENTRY * i - 14, ENTRY * i) + 0
  end

  local function text_of(log)
    return log.size > 0 and log.entries .. format('%016d%015d', log.last, log.weight) or ''
  end

  local function clear_at(log)
    if log.kind == 'b' then
      return log.edge
    end
    local last = log.size > 0 and log.last or log.edge
    return last > 0 and max(last, log.edge) + log.per or 0
  end

  local function forget(log, until_)
    local gone = 0
    while gone < log.size do
      local at = time_of(log, gone + 1)
      if at > until_ then
        break
      end
      gone = gone + 1
      log.edge, log.total = max(log.edge, at), log.total - weight_of(log, gone)
    end
    if gone > 0 then
      log.entries, log.size = sub(log.entries, ENTRY * gone + 1), log.size - gone
    end
  end

  -- Stores a state until the last of it no longer counts.
  local function store(key, state)
    local time, clear = state.time, max(state.last, state.until_)
    if #state.logs > MAX_LOGS then
      local kept = {}
      for _, log in ipairs(state.logs) do
        if clear_at(log) > time then
          kept[#kept + 1] = log
        end
      end
      state.logs = kept
    end
    local text = format('%d %d %d %d', time, time - micros, state.last, state.until_)
    for _, log in ipairs(state.logs) do
      if log.kind == 'w' then
        forget(log, max(time, state.last - log.per) - log.per)
      end
      clear = max(clear, clear_at(log))
      local numbers = '\n%s %d %d %s %d %d %s'
      text = text .. format(numbers, log.name, log.per, log.limit, log.kind, log.edge * 4, log.total, text_of(log))
    end
    local life = ceil(clear - time)
    if life > 0 then
      redis.call('SET', key, text, 'PX', format('%d', ceil(life / 1000)))
    elseif state.stored then
      redis.call('DEL', key)
    end
  end

  function limits.store()
    for index, state in pairs(states) do
      if state.changed then
        store(KEYS[index + 2], state)
      end
    end
  end

  local function together(rate, one, other)
    if rate.limit <= PARTS then
      return one == other
    end
    return ceil(one * PARTS / rate.per) == ceil(other * PARTS / rate.per)
  end

  local function add(log, rate, weight, at)
    if weight == 0 then
      return
    end
    if log.kind == 'b' then
      local missing = log.edge - at
      if missing > 0 then
        log.weight = min(log.weight, floor(missing))
      else
        log.size, log.last, log.weight = 1, at, MAX_WEIGHT
      end
      log.edge = min(max(log.edge, at) + ceil(weight * (rate.per / rate.limit) * 4) / 4, LATEST)
      return
    end
    local size = log.size
    if size == 0 or log.last <= at then
      if size > 0 and together(rate, log.last, at) then
        local after = min(log.weight + weight, MAX_WEIGHT)
        log.total, log.last, log.weight = log.total + after - log.weight, at, after
      else
        log.entries = text_of(log)
        log.last, log.weight, log.size = at, min(weight, MAX_WEIGHT), size + 1
        log.total = log.total + log.weight
      end
      return
    end
    local i = size
    while i > 0 and time_of(log, i) > at do
      i = i - 1
    end
    local entries, before, rest = text_of(log), 0, i
    if i > 0 and together(rate, time_of(log, i), at) then
      before = weight_of(log, i)
    else
      i = i + 1
      if together(rate, time_of(log, i), at) then
        at, before, rest = time_of(log, i), weight_of(log, i), i
      end
    end
    local after = min(before + weight, MAX_WEIGHT)
    log.total = log.total + after - before
    local entry = format('%016d%015d', at, after)
    set_entries(log, sub(entries, 1, ENTRY * (i - 1)) .. entry .. sub(entries, ENTRY * rest + 1))
  end

  local function remove(log, rate, weight, at)
    if log.kind == 'b' then
      if log.size > 0 and at >= log.last then
        local credit = min(floor(weight * (rate.per / rate.limit)), log.weight)
        log.edge, log.weight = max(0, log.edge - credit), log.weight - credit
      end
      return
    end
    for i = 1, log.size do
      local time = time_of(log, i)
      if time >= at then
        if together(rate, time, at) then
          local entries, before = text_of(log), weight_of(log, i)
          local left = max(0, before - weight)
          log.total = log.total - (before - left)
          local entry = left > 0 and format('%016d%015d', time, left) or ''
          set_entries(log, sub(entries, 1, ENTRY * (i - 1)) .. entry .. sub(entries, ENTRY * i + 1))
        end
        return
      end
    end
  end

  local function find(state, rate)
    for _, log in ipairs(state.logs) do
      if log.name == rate.name and log.kind == rate.kind and (rate.kind == 'b' or log.per == rate.per) then
        if rate.kind == 'b' and (log.limit ~= rate.limit or log.per ~= rate.per) then
          local from = max(state.time, log.size > 0 and log.last or 0)
          local missing = max(log.edge - from, 0) / (log.per / log.limit)
          log.edge = min(from + ceil(missing * (rate.per / rate.limit) * 4) / 4, LATEST)
          log.limit, log.per, state.changed = rate.limit, rate.per, true
          log.size, log.last, log.weight = 1, from, 0
        end
        return log
      end
    end
  end

  local function add_log(state, rate, was_used)
    local log = {
      name = rate.name,
      per = rate.per,
      limit = rate.kind == 'b' and rate.limit or 0,
      kind = rate.kind,
      edge = 0,
      total = 0,
      size = 0,
      entries = '',
    }
    local other
    for _, each in ipairs(state.logs) do
      other = each.name == rate.name and each.kind == rate.kind and each or other
    end
    if other then
      log.edge = other.edge
      for i = 1, other.size do
        add(log, rate, weight_of(other, i), time_of(other, i))
      end
    elseif was_used then
      add(log, rate, rate.burst > 0 and rate.burst or rate.limit, state.time)
    end
    state.logs[#state.logs + 1], state.changed = log, true
    return log
  end

  local function logs_of(state, rates)
    local was_used, logs = #state.logs > 0, {}
    for i, rate in ipairs(rates) do
      logs[i] = find(state, rate) or add_log(state, rate, was_used)
    end
    return logs
  end

  local function available_at(log, rate, weight, at)
    if weight == 0 then
      return at
    end
    if weight > (rate.burst > 0 and rate.burst or rate.limit) then
      return math.huge
    end
    if log.kind == 'b' then
      local missing = floor((rate.burst - weight) * (rate.per / rate.limit) * 4) / 4
      return max(at, ceil(log.edge - missing))
    end
    local first, left, i = at, log.total, 1
    if log.edge > 0 then
      first = max(at, log.edge + rate.per)
    end
    while left + weight > rate.limit do
      left, first, i = left - weight_of(log, i), max(first, time_of(log, i) + rate.per), i + 1
    end
    return first
  end

  local function remaining_of(log, rate, time)
    if log.kind == 'b' then
      return max(floor(rate.burst - max(log.edge - time, 0) / (rate.per / rate.limit)), 0)
    end
    if log.edge > 0 and log.edge + rate.per > time then
      return 0
    end
    local used, i, size = log.total, 1, log.size
    while i <= size and time_of(log, i) <= time - rate.per do
      used, i = used - weight_of(log, i), i + 1
    end
    return max(rate.limit - used, 0)
  end

  local function parse_rates(text)
    local rates = rates_of[text]
    if not rates then
      rates = {}
      for name, limit, per, burst in string.gmatch(text, '(=%S*) (%d+) (%d+) (%d+)') do
        local kind = burst == '0' and 'w' or 'b'
        rates[#rates + 1] = { name = name, limit = limit + 0, per = per + 0, burst = burst + 0, kind = kind }
      end
      rates_of[text] = rates
    end
    return rates
  end

  -- Reads a group: the number of its key, further numbers; its rates.
  local function parse_group(moments)
    local words, numbers = limits.argument(), {}
    local part = { rates = parse_rates(limits.argument()), numbers = numbers }
    local index, moment, rest = match(words, moments and '^(%d+) (%d+) ?(.*)$' or '^(%d+)() (.*)$')
    if #part.rates == 1 then
      numbers[1] = rest + 0
    else
      for number in string.gmatch(rest, '%S+') do
        numbers[#numbers + 1] = number + 0
      end
    end
    part.index, part.moment, part.state = index + 0, moment, read(index + 0)
    part.logs = logs_of(part.state, part.rates)
    return part
  end

  local function delay_of(part)
    local state = part.state
    local at = max(state.time, state.last, state.until_)
    for i, rate in ipairs(part.rates) do
      at = available_at(part.logs[i], rate, part.numbers[i], at)
    end
    return at >= LATEST and math.huge or at - state.time
  end

  local function count_of(part, most)
    local count = most
    for i, rate in ipairs(part.rates) do
      local weight = part.numbers[i]
      if weight > 0 then
        local left = floor(remaining_of(part.logs[i], rate, part.state.time) / weight)
        count = max(1, min(count, left))
      end
    end
    return count
  end

  -- within, count, time, look, number of groups with rates, the others; each group with rates and its weights
  function limits.operations.start(words)
    local within, count, span, look, size, rest = match(words, '^(%S+) (%d+) (%d+) (%d) (%d+)(.*)$')
    within, count, span, size = within + 0, count + 0, span + 0, size + 0
    local parts, delay, by, is_delayed = {}, nil, 0, false
    for g = 1, size do
      local part = parse_group()
      parts[g] = part
      local each = delay_of(part)
      if not delay or each > delay then
        delay, by = each, g - 1
      end
      is_delayed = is_delayed or delayed[part.index]
    end
    for index in string.gmatch(rest, '%d+') do
      local part = { index = index + 0, rates = {}, state = read(index + 0) }
      parts[#parts + 1] = part
      local each = delay_of(part)
      if not delay or each > delay then
        delay, by = each, #parts - 1
      end
      is_delayed = is_delayed or delayed[part.index]
    end
    local granted = (by == 0 or delay == 0)
      and not (is_delayed and delay > AHEAD)
      and delay < math.huge
      and (within < 0 or delay <= within)
    local taken, at, next = granted and 1 or 0, '', 0
    if granted and look == '0' then
      if delay == 0 and count > 1 then
        taken = count
        for g = 1, size do
          taken = count_of(parts[g], taken)
        end
      end
      for g, part in ipairs(parts) do
        local state = part.state
        local start = state.time + delay
        local counted = taken > 1 and start + span or start
        for i, rate in ipairs(part.rates) do
          add(part.logs[i], rate, part.numbers[i] * taken, counted)
        end
        if g <= size then
          state.last, state.changed = max(state.last, start), true
        end
        if delay > AHEAD then
          delayed[part.index] = true
        end
        at = at .. format('%d,', counted)
      end
      if taken < count then
        for _, part in ipairs(parts) do
          next = min(max(next, delay_of(part)), LATEST)
        end
      end
    end
    local remaining, reset = '', ''
    for g = 1, size do
      local part = parts[g]
      local state = part.state
      local ahead = max(state.last, state.until_) > state.time
      for i, rate in ipairs(part.rates) do
        local log = part.logs[i]
        remaining = remaining .. format('%d,', ahead and 0 or remaining_of(log, rate, state.time))
        reset = reset .. format('%d,', max(0, ceil(max(clear_at(log), state.until_) - state.time)))
      end
    end
    delay = delay < math.huge and delay or -1
    local numbers = 'start %d %d %d %d %d %s %s %s'
    return format(numbers, granted and 1 or 0, delay, taken, next, by, at, remaining, reset)
  end

  -- number of groups; each with the moment of the start and the weights
  function limits.operations.correct(size)
    for _ = 1, size + 0 do
      local part = parse_group(true)
      local moment, state, logs = part.moment + 0, part.state, part.logs
      for i, rate in ipairs(part.rates) do
        local weight = part.numbers[i]
        if weight < 0 then
          remove(logs[i], rate, -weight, moment)
        else
          add(logs[i], rate, weight, state.time)
        end
      end
      if state.last == moment then
        state.last = 0
        for _, log in ipairs(state.logs) do
          local i = log.kind == 'w' and log.size or 0
          while i > 0 and time_of(log, i) > moment do
            i = i - 1
          end
          state.last = max(state.last, i > 0 and time_of(log, i) or 0)
        end
      end
      state.changed = true
    end
    return 'number 0'
  end

  -- number of the key, time
  function limits.operations.penalize(words)
    local index, time = match(words, '^(%d+) (%d+)$')
    local state = read(index + 0)
    state.until_, state.changed = max(state.until_, state.time + time), true
    return 'number 0'
  end

  if ARGV[3] == '-' then
    local position, lines = 3, { '' }
    function limits.argument()
      position = position + 1
      return ARGV[position]
    end
    while position < #ARGV do
      local name, words = match(limits.argument(), '^(%a+) (.*)$')
      lines[#lines + 1] = limits.operations[name](words)
    end
    limits.store()
    lines[1] = 'done 0 0 ' .. #lines - 1
    return table.concat(lines, '\n')
  end
end
