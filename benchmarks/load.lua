-- wrk's requests, and the one line of output for load.py. Each line of the standard input is a request: the path
-- of a GET, or the body of POST /v1/list/extwallet. After the last one, the first one is next.

local requests, turn = {}, 0

function init()
  for line in io.lines() do
    local is_body = line:sub(1, 1) == "{"
    if is_body then wrk.headers["Content-Type"] = "application/json" end
    requests[#requests + 1] = is_body and wrk.format("POST", "/v1/list/extwallet", nil, line)
      or wrk.format("GET", line)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n@{"requests": %d, "seconds": %f, "bytes": %d, "not_2xx": %d, "socket": %d, "timeout": %d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout))
end
