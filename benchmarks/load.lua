-- What wrk asks for, and the one line that load.py reads. Arguments: what, and numbers of load.Walk.
--   page: always the address on the command line
--   nft:  GET /v1/nft/<tokenId>/<serialNo>, another NFT each time
--   list: POST /v1/list/extwallet, another NFT each time

local format = string.format

function init(args)
  local what = args[1]
  if what == "page" then return end
  local count, step, stride, at = tonumber(args[2]), tonumber(args[3]), tonumber(args[4]), tonumber(args[5])
  local collection, first_token = tonumber(args[6]), tonumber(args[7])
  local first_owner, owners, owner_step = tonumber(args[8]), tonumber(args[9]), tonumber(args[10])

  local function next_number()
    at = (at + step) % count
    return at * stride
  end

  if what == "nft" then
    local before, after = wrk.format("GET", "@"):match("^(.-)@(.*)$")
    local kept = {}
    request = function()
      local number = next_number()
      local text = kept[number]
      if not text then
        local token, serial_no = first_token + math.floor(number / collection), number % collection + 1
        text = format("%s/v1/nft/0.0.%d/%d%s", before, token, serial_no, after)
        if count <= 10000 then kept[number] = text end
      end
      return text
    end
  else
    local body = '{"accountId":"0.0.%d","tokenId":"0.0.%d","serialNo":%d,"listingPrice":250}'
    wrk.headers["Content-Type"] = "application/json"
    request = function()
      local number = next_number()
      local owner = first_owner + number * owner_step % owners
      local token, serial_no = first_token + math.floor(number / collection), number % collection + 1
      return wrk.format("POST", "/v1/list/extwallet", nil, format(body, owner, token, serial_no))
    end
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(format(
    '\n@{"requests": %d, "seconds": %f, "bytes": %d, "not_2xx": %d, "socket": %d, "timeout": %d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout))
end
