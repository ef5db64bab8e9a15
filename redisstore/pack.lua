-- What stands at the beginning of admit: short names, and how numbers
-- are packed.

local floor, ceil, sqrt, max, min = math.floor, math.ceil, math.sqrt, math.max, math.min
local byte, char, sub, find, match, rep = string.byte, string.char, string.sub, string.find, string.match, string.rep
local concat, sort = table.concat, table.sort

-- pack and unpack are those of struct: numbers, "d" in the format, are exact:
-- whole, and below 2^53; "Hc0" is a string with its length before it. A server
-- without struct gets lines of text.
local library = rawget(_G, 'struct')
local pack = library and library.pack or function(format, ...)
  local out = {...}
  for i, v in ipairs(out) do
    if type(v) == 'number' then out[i] = string.format('%.0f', v) end
  end
  return concat(out, '\n') .. '\n'
end
local unpackFrom = library and library.unpack or function(format, s, p)
  local out = {}
  for kind in string.gmatch(format, '[dH]') do
    local last = find(s, '\n', p, true)
    local v = tonumber(sub(s, p, last - 1))
    p = last + 1
    if kind == 'H' then
      local size = v
      v = sub(s, p, p + size - 1)
      p = p + size + 1
    end
    out[#out + 1] = v
  end
  out[#out + 1] = p
  return unpack(out)
end

-- The formats: of the ledger, a scope, one of its windows, a count that is too
-- large for a byte, a seat, and a mark of a merge.
local LEDGER, SCOPE, WINDOW, LARGE, SEAT, MARK = '>dddddHc0', '>dddddddddddd', '>ddddddddddddddddddddddddd', '>dd', '>Hc0ddddd', '>ddd'

local function quo(a, b) return floor(a / b) end -- of what is not negative
