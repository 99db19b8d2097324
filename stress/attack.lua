-- wrk's requests for stress/attack.py: POST /v1/add, another NFT each time, or with the argument "buy" a purchase by
-- another account each time. Prints one line for attack.py.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  serial_no, answered, kind = 0, {}, args[1]
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  serial_no = serial_no + 1
  if kind == "buy" then
    local order = '{"accountId":"0.0.%d","tokenId":"0.0.7001","serialNo":%d}'
    return wrk.format("POST", "/v1/buy/extwallet", nil, string.format(order, 20000 + serial_no, 1 + serial_no % 10))
  end
  local body = '{"accountId":"0.0.1001","tokenId":"0.0.7001","serialNo":%d}'
  return wrk.format("POST", "/v1/add", nil, string.format(body, serial_no))
end

function response(status)
  answered[status] = (answered[status] or 0) + 1
end

function done(summary, latency)
  local parts = {}
  for status, count in pairs(threads[1]:get("answered")) do
    table.insert(parts, string.format('"%d": %d', status, count))
  end
  io.write(string.format('\n@{"p50": %f, "p99": %f, "worst": %f, "statuses": {%s}}\n',
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency.max / 1e6, table.concat(parts, ", ")))
end
