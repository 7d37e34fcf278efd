-- Sets a value, unless a higher fencing token has set it before.
--
-- KEYS: a hash with the value and the highest token that has set it. ARGV: the value, the token.
local fence = redis.call('HGET', KEYS[1], 'fence')
if fence and not string.find(fence, '^%d+$') then
  return redis.error_reply('ERR the fence of the key is not a fencing token')
end
if not fence and redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE the key holds a value without a fence')
end
if fence and tonumber(fence) > tonumber(ARGV[2]) then
  return 0
end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
return 1
