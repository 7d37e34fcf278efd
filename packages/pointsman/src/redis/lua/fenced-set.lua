-- Sets a value unless somebody with a higher fencing token has been there before.
--
-- KEYS: the value, and the highest token that has written it. ARGV: the value, the token.
local highest = redis.call('GET', KEYS[2])
if highest and tonumber(highest) > tonumber(ARGV[2]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[2])
return 1
