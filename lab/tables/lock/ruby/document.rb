# The document's tests 1 and 2 with its own library, redis-em-mutex, in fibers on EventMachine: the same work as
# workloads/take-turns.ts and workloads/write-and-read.ts, by the same key sets.
#
# Reads requests, a line of JSON each: the size of the key set, and for test 2 the milliseconds. Answers each with a line
# of JSON: a sample by measure. It ends at the end of its input. Invariant: it ends with an error, and prints no figures,
# if two turns overlap, if a turn is lost, or if a value read differs from the one written.

require 'json'
require 'optparse'

options = {}
OptionParser.new do |parser|
  parser.on('--gems FOLDER') { |folder| options[:gems] = folder }
  parser.on('--check') { options[:check] = true }
  parser.on('--handler NAME') { |name| options[:handler] = name.to_sym }
  parser.on('--test NAME') { |name| options[:test] = name }
  parser.on('--url URL') { |url| options[:url] = url }
  parser.on('--namespace NAME') { |name| options[:namespace] = name }
end.parse!

$LOAD_PATH.unshift(*Dir[File.join(options.fetch(:gems), 'gems', '*', 'lib')])

begin
  require 'em-synchrony'
  require 'redis'
  # The driver warns at each start that the next version of the gem removes it.
  Redis.silence_deprecations = true if Redis.respond_to?(:silence_deprecations=)
  require 'redis/connection/synchrony'
  require 'redis-em-mutex'
rescue LoadError => error
  abort "the Ruby library #{error.path}"
end
exit if options[:check]

TURNS = 1000
DOCUMENT_SECONDS = 5.0
COMMANDS_PER_TURN = 4

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Exactly one at a time, and none lost.
class Judge
  attr_reader :turns

  def initialize
    @inside = 0
    @turns = 0
  end

  def turn
    abort "granted a turn while another turn was running" unless @inside.zero?
    @inside += 1
    yield if block_given?
    @turns += 1
    @inside -= 1
  end
end

# Runs the block in that many concurrent fibers, until all have ended.
def in_fibers(count)
  caller = Fiber.current
  left = count
  count.times do |index|
    Fiber.new do
      yield index
      left -= 1
      caller.resume if left.zero?
    end.resume
  end
  Fiber.yield if left.positive?
end

def jain(shares)
  shares.sum.to_f**2 / (shares.size * shares.sum { |share| share * share })
end

def slowest(waits)
  sorted = waits.sort
  { p99: sorted[((sorted.size - 1) * 0.99).round] * 1000, longest: sorted.last * 1000 }
end

def locked(names, waits)
  mutex = Redis::EM::Mutex.new(*names)
  asked_at = now
  mutex.lock
  waits << now - asked_at
  yield
  abort 'lost a lock' unless mutex.unlock!
end

def take_turns(pool, size)
  judge = Judge.new
  waits = []
  shares = Array.new(10, 0)
  left = TURNS
  started_at = now
  in_fibers(shares.size) do |index|
    while left.positive?
      left -= 1
      locked(pool.sample(size), waits) { judge.turn { shares[index] += 1 } }
    end
  end
  seconds = now - started_at
  abort "counted #{judge.turns} turns of #{TURNS}" unless judge.turns == TURNS
  [{ seconds: seconds, fairness: jain(shares), **slowest(waits) }, TURNS, TURNS]
end

def write_and_read(pool, size, redis, key, seconds)
  judge = Judge.new
  waits = []
  shares = Array.new(100, 0)
  delays = (1..100).map { |index| 0.001 + index / 100_000.0 }.shuffle
  afterwards = 0
  ends_at = now + seconds
  in_fibers(shares.size) do |index|
    while now < ends_at
      EM::Synchrony.sleep(delays[index])
      locked(pool.sample(size), waits) do
        judge.turn do
          value = rand(1_000_000)
          redis.set(key, value)
          redis.incr(key)
          read = redis.get(key).to_i
          redis.del(key)
          abort "wrote #{value}, and read #{read} after one increment" unless read == value + 1
          shares[index] += 1
        end
      end
      afterwards += 1 if now >= ends_at
    end
  end
  count = (judge.turns - afterwards) * DOCUMENT_SECONDS / seconds + afterwards
  found = { count: count, seconds: DOCUMENT_SECONDS + now - ends_at, fairness: jain(shares), **slowest(waits) }
  [found, judge.turns, count]
end

# The measures of a test on one key set, without what its own commands cost the server.
def measure(options, redis, size, seconds)
  name = "#{size}/#{2 * size - 1}"
  pool = (1..2 * size - 1).map { |index| "#{options[:test]}:#{name}:#{index}" }
  executed = -> { redis.info('stats')['total_commands_processed'].to_i }
  executed_before = executed.call
  used_before = Process.times
  found, turns, counted =
    if options[:test] == 'test-1'
      take_turns(pool, size)
    else
      write_and_read(pool, size, redis, "#{options[:namespace]}:value", seconds)
    end
  used = Process.times
  user = used.utime - used_before.utime
  system = used.stime - used_before.stime
  own = options[:test] == 'test-1' ? 0 : COMMANDS_PER_TURN
  share = counted / turns.to_f
  found.merge(
    user: user * share, system: system * share, total: (user + system) * share,
    'processor time': (user + system) * 1e6 / turns,
    executed: (executed.call - executed_before - 1) / turns.to_f - own
  ).transform_keys { |measure| "#{name} #{measure}" }
end

EM.epoll
# A cancelled timer counts until it would have fired.
EM.set_max_timers(5_000_000)
EM.synchrony do
  Redis::EM::Mutex.setup(
    url: options[:url], size: 10, expire: 10_000, ns: options[:namespace], handler: options[:handler]
  )
  redis = Redis.new(url: options[:url], driver: :synchrony)
  # Waiting for a request blocks the event loop, so that an idle program does nothing.
  while (line = $stdin.gets)
    request = JSON.parse(line)
    puts JSON.generate(measure(options, redis, request['size'], request['milliseconds'] / 1000.0))
    $stdout.flush
  end
  # Stopping its watcher fails with this version of the client.
  exit!(true)
end
