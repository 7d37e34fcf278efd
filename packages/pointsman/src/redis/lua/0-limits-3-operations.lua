-- The full path: decides the operations of limiters.

if limits then
  local AHEAD, LATEST = 50000, 9e15
  local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
  local format, gmatch, match = string.format, string.gmatch, string.match
  local add, remove, forget = limits.add, limits.remove, limits.forget
  local time_of, weight_of, clear_at = limits.time_of, limits.weight_of, limits.clear_at
  local span_of, taken_of, set_taken = limits.span_of, limits.taken_of, limits.set_taken
  -- The keys at which an earlier start of the batch waits.
  local delayed = {}

  local function numbers_in(text)
    local numbers = {}
    for number in gmatch(text, '%S+') do
      numbers[#numbers + 1] = number + 0
    end
    return numbers
  end

  local function rates_in(text)
    local rates = {}
    for name, limit, per, burst in gmatch(text, '(=%S*) (%d+) (%d+) (%d+)') do
      local kind = burst == '0' and 'w' or 'b'
      rates[#rates + 1] = { name = name, limit = limit + 0, per = per + 0, burst = burst + 0, kind = kind }
    end
    return rates
  end

  -- Returns a function that parses an argument and caches the result: most arguments of a batch are equal.
  local function remembering(parse)
    local results = {}
    return function(text)
      local result = results[text]
      if not result then
        result = parse(text)
        results[text] = result
      end
      return result
    end
  end

  local function find(state, rate)
    for _, log in ipairs(state.logs) do
      if log.name == rate.name and log.kind == rate.kind and (rate.kind == 'b' or log.per == rate.per) then
        if rate.kind == 'b' and (log.limit ~= rate.limit or log.per ~= rate.per) then
          local from = max(state.time, log.size > 0 and log.last or 0)
          local missing = max(log.edge - from, 0) / span_of(log, 1)
          log.limit, log.per, state.changed = rate.limit, rate.per, true
          log.size, log.last, log.weight = 1, from, 0
          set_taken(log, rate, missing)
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
      last = 0,
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
      return max(at, log.last + ceil(span_of(rate, taken_of(log, rate) + weight - rate.burst)))
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
      local refilled = (time - log.last) / span_of(rate, 1)
      return log.edge > time and max(floor(rate.burst - taken_of(log, rate) + refilled), 0) or rate.burst
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

  -- A key (without a number, the next new one), its weights and its rates.
  local read_group = remembering(function(text)
    local index, weights, rates = match(text, '^(%d*):([^=]*)(.*)$')
    return { index = tonumber(index), numbers = numbers_in(weights), rates = rates_in(rates) }
  end)

  local read_numbers = remembering(numbers_in)
  local none = {}

  -- Adds the state of its key to a group; a key alone has no rates.
  local function part_of(group, index)
    local rates = group and group.rates or none
    index = index or group.index or limits.named + 1
    limits.named = max(limits.named, index)
    local state = limits.read(index)
    local logs = group and logs_of(state, rates) or none
    return { index = index, state = state, rates = rates, numbers = group and group.numbers, logs = logs }
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

  -- Decides a start. `parts`: its groups, of which the first `size` have rates.
  local function decide(within, count, span, look, parts, size)
    local delay, by, is_delayed = nil, 0, false
    for g, part in ipairs(parts) do
      local each = delay_of(part)
      if not delay or each > delay then
        delay, by = each, g - 1
      end
      is_delayed = is_delayed or delayed[part.index]
    end
    local granted = (by == 0 or delay == 0)
      and not (is_delayed and delay > AHEAD)
      and delay < math.huge
      and (within < 0 or delay <= within)
    local taken, at, next = granted and 1 or 0, '', 0
    if granted and not look then
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
    for _, part in ipairs(parts) do
      if part.state.changed then
        forget(part.state)
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

  -- within, count, time, look, number of groups with rates, the keys of the others; each group with rates
  function limits.operations.start(words)
    local numbers, parts = read_numbers(words), {}
    local within, count, span, look, size = unpack(numbers, 1, 5)
    for g = 1, size do
      parts[g] = part_of(read_group(limits.argument()))
    end
    for i = 6, #numbers do
      parts[size + i - 5] = part_of(nil, numbers[i])
    end
    return decide(within, count, span, look == 1, parts, size)
  end

  -- A single start, not a look, from one window of a new key: within, weight, rate, the keys of the others
  function limits.operations.now(words)
    local line = limits.start_quickly('now ' .. words)
    if line then
      return line
    end
    local within, weight, rates, others = match(words, '^(%S+) (%d+) (=%S* %d+ %d+ 0)(.*)$')
    local parts = { part_of(read_group(':' .. weight .. ' ' .. rates)) }
    for _, index in ipairs(read_numbers(others)) do
      parts[#parts + 1] = part_of(nil, index)
    end
    return decide(within + 0, 1, 0, false, parts, 1)
  end

  -- The moment of the start in each group; each group
  function limits.operations.correct(words)
    for _, moment in ipairs(read_numbers(words)) do
      local part = part_of(read_group(limits.argument()))
      local state, logs = part.state, part.logs
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
      forget(state)
    end
    return 'number 0'
  end

  -- number of the key, time
  function limits.operations.penalize(words)
    local index, time = match(words, '^(%d+) (%d+)$')
    local state = part_of(nil, index + 0).state
    state.until_ = min(max(state.until_, state.time + time), LATEST)
    forget(state)
    return 'number 0'
  end

  if limits.run then
    return limits.run()
  end
end
