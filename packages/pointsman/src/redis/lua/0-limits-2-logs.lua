-- The full path: parses and formats the states of limiters, and updates the logs of their rates.

if limits then
  local ENTRY, PARTS, MAX_WEIGHT, MAX_LOGS, LATEST = 31, 64, 999999999999999, 16, 9e15
  local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
  local format, match, sub = string.format, string.match, string.sub

  local function set_entries(log, entries)
    log.size = #entries / ENTRY
    if log.size > 0 then
      log.last, log.weight = sub(entries, -ENTRY, -16) + 0, sub(entries, -15) + 0
    end
    log.entries = sub(entries, 1, -ENTRY - 1)
  end

  -- Most starts change only the last entry of a log, so it is kept apart from the text of the others.
  function limits.read(index)
    local state = limits.states[index]
    if state then
      return state
    end
    state = { seen = 0, offset = 0, last = 0, until_ = 0, logs = {} }
    limits.states[index] = state
    local text = limits.texts[index]
    if text then
      local seen, at = sub(text, 1, 16) + 0, 17
      state.stored, state.seen, state.last = true, seen, seen
      if sub(text, 17, 17) == ' ' then
        local last, offset, until_, next = match(text, '^ (%d+) (%d+) (%d+)()', 17)
        state.last, state.offset, state.until_, at = last + 0, offset + 0, until_ + 0, next
      end
      while at < #text do
        local name, per, limit, from, till = match(text, '^\n(=%S*) (%d+) (%w+) ()%d+()', at)
        local log = { name = name, per = per + 0, kind = limit == 'w' and 'w' or 'b', limit = tonumber(limit) or 0 }
        log.edge, log.total = sub(text, from, from + 16) / 4, sub(text, from + 17, from + 34) + 0
        log.size, log.last = (till - from - 35) / ENTRY, log.edge
        if log.size > 0 then
          log.last, log.weight = sub(text, till - 31, till - 16) + 0, sub(text, till - 15, till - 1) + 0
        end
        log.entries = sub(text, from + 35, till - ENTRY - 1)
        state.logs[#state.logs + 1], at = log, till
      end
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

  local function entries_of(log)
    return log.size > 0 and log.entries .. format('%016d%015d', log.last, log.weight) or ''
  end

  -- The time from which no entry of the log counts.
  local function clear_at(log)
    if log.kind == 'b' then
      return log.edge
    end
    local last = log.size > 0 and log.last or log.edge
    return last > 0 and max(last, log.edge) + log.per or 0
  end

  -- Forgets the starts of windows that no longer count.
  function limits.forget(state)
    for _, log in ipairs(state.logs) do
      local gone, until_ = 0, max(state.time, state.last - log.per) - log.per
      while log.kind == 'w' and gone < log.size do
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
    state.changed = true
  end

  -- Returns the text of a state and its time to live, or nothing if none of its entries counts.
  function limits.text_of(state)
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
    local offset = time - micros
    local text = format('%016d', time)
    if state.last ~= time or offset > 0 or state.until_ > 0 or #state.logs ~= 1 then
      text = text .. format(' %d %d %d', state.last, offset, state.until_)
    end
    for _, log in ipairs(state.logs) do
      clear = max(clear, clear_at(log))
      local limit = log.kind == 'w' and 'w' or format('%d', log.limit)
      local numbers = '\n%s %d %s %017d%018d%s'
      text = text .. format(numbers, log.name, log.per, limit, log.edge * 4, log.total, entries_of(log))
    end
    local life = ceil(clear - time)
    if life > 0 then
      return text, format('%d', ceil(life / 1000))
    end
  end

  -- Whether two times are in the same part of the window.
  local function together(rate, one, other)
    if rate.limit <= PARTS then
      return one == other
    end
    return ceil(one * PARTS / rate.per) == ceil(other * PARTS / rate.per)
  end

  local function span_of(rate, weight)
    return weight * rate.per / rate.limit
  end

  -- The total weight that was taken from a bucket since a start found it full.
  local function taken_of(log, rate)
    local span = log.edge - log.last
    local taken = span / span_of(rate, 1)
    local whole = floor(taken + 1e-6)
    return span - span_of(rate, whole) <= 0.25 and whole or taken
  end

  local function set_taken(log, rate, taken)
    log.edge = min(log.last + ceil(span_of(rate, taken) * 4) / 4, LATEST)
    -- A fraction of a weight must not be taken for the rounding of a whole number.
    if taken_of(log, rate) < taken then
      log.edge = log.edge + 0.5
    end
  end

  function limits.add(log, rate, weight, at)
    if weight == 0 then
      return
    end
    if log.kind == 'b' then
      local missing, taken = log.edge - at, 0
      if missing > 0 then
        taken = taken_of(log, rate)
        log.weight = min(log.weight, floor(missing))
      else
        log.size, log.last, log.weight = 1, at, MAX_WEIGHT
      end
      set_taken(log, rate, taken + weight)
      return
    end
    local size = log.size
    if size == 0 or log.last <= at then
      if size > 0 and together(rate, log.last, at) then
        local after = min(log.weight + weight, MAX_WEIGHT)
        log.total, log.last, log.weight = log.total + after - log.weight, at, after
      else
        log.entries = entries_of(log)
        log.last, log.weight, log.size = at, min(weight, MAX_WEIGHT), size + 1
        log.total = log.total + log.weight
      end
      return
    end
    local i = size
    while i > 0 and time_of(log, i) > at do
      i = i - 1
    end
    local entries, before, rest = entries_of(log), 0, i
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

  function limits.remove(log, rate, weight, at)
    if log.kind == 'b' then
      if log.size > 0 and at >= log.last then
        local credit = min(weight, log.weight / span_of(rate, 1))
        log.weight = max(0, log.weight - ceil(span_of(rate, weight)))
        set_taken(log, rate, max(0, taken_of(log, rate) - credit))
      end
      return
    end
    for i = 1, log.size do
      local time = time_of(log, i)
      if time >= at then
        if together(rate, time, at) then
          local entries, before = entries_of(log), weight_of(log, i)
          local left = max(0, before - weight)
          log.total = log.total - (before - left)
          local entry = left > 0 and format('%016d%015d', time, left) or ''
          set_entries(log, sub(entries, 1, ENTRY * (i - 1)) .. entry .. sub(entries, ENTRY * i + 1))
        end
        return
      end
    end
  end

  limits.time_of, limits.weight_of, limits.clear_at = time_of, weight_of, clear_at
  limits.span_of, limits.taken_of, limits.set_taken = span_of, taken_of, set_taken
end
