/** Values of Modbus: which tables there are, how numbers lie in registers, and what a capability of the settings means. */

const numbers = {
  int16: { registers: 1, get: b => b.readInt16BE(0), put: (b, v) => b.writeInt16BE(v), isWhole: true },
  uint16: { registers: 1, get: b => b.readUInt16BE(0), put: (b, v) => b.writeUInt16BE(v), isWhole: true },
  int32: { registers: 2, get: b => b.readInt32BE(0), put: (b, v) => b.writeInt32BE(v), isWhole: true },
  uint32: { registers: 2, get: b => b.readUInt32BE(0), put: (b, v) => b.writeUInt32BE(v), isWhole: true },
  float32: { registers: 2, get: b => b.readFloatBE(0), put: (b, v) => b.writeFloatBE(v), isWhole: false },
}

const tables = {
  coil: { isBit: true, isWritable: true, read: 'readCoils' },
  discrete: { isBit: true, isWritable: false, read: 'readDiscreteInputs' },
  holding: { isBit: false, isWritable: true, read: 'readHoldingRegisters' },
  input: { isBit: false, isWritable: false, read: 'readInputRegisters' },
}

/** Half a step of the scale, and a little for what floats lose. */
const HALF_STEP = 0.5001
const FLOAT_STEP = 1e-6

/** A capability of the settings with how it is read and written; throws where the settings are wrong. */
export function pointOf(given) {
  const { capability, table, address, type = 'uint16', scale = 1, words = 'big' } = given
  const of = tables[table]
  if (of === undefined) throw new Error(`${capability}: table is one of ${Object.keys(tables).join(', ')}`)
  if (!Number.isInteger(address) || address < 0 || address > 0xffff)
    throw new Error(`${capability}: address is a number from 0 to 65535, counted from 0`)
  const number = of.isBit ? undefined : numbers[type]
  if (!of.isBit && number === undefined)
    throw new Error(`${capability}: type is one of ${Object.keys(numbers).join(', ')}`)
  if (given.write === true && !of.isWritable)
    throw new Error(`${capability}: nothing can be written to ${table}`)
  if (words !== 'big' && words !== 'little') throw new Error(`${capability}: words is big or little`)
  return {
    capability,
    address,
    table: of,
    number,
    scale,
    isSwapped: words === 'little' && number?.registers === 2,
  }
}

/** What a node is told of it. */
export function describedPoint(given) {
  const { table, number, scale } = pointOf(given)
  const { capability, unit, minimum, maximum, quirks } = given
  const tolerance = number === undefined ? 0 : number.isWhole ? scale * HALF_STEP : scale * FLOAT_STEP
  const range = table.isBit ? { minimum: 0, maximum: 1 } : defined({ minimum, maximum })
  return {
    capability,
    kind: 'number',
    access: given.write === true ? ['read', 'subscribe', 'write'] : ['read', 'subscribe'],
    ...range,
    ...defined({ unit, quirks }),
    tolerance: given.tolerance ?? tolerance,
  }
}

const defined = members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Its number, as the device has it now. */
export async function readPoint(client, { table, address, number, scale, isSwapped }) {
  if (table.isBit) return (await client[table.read](address, 1)).data[0] ? 1 : 0
  const { buffer } = await client[table.read](address, number.registers)
  const value = number.get(isSwapped ? buffer.swap16().reverse() : buffer)
  // 215 tenths are 21.5, and not 21.500000000000004
  return Number((value * scale).toPrecision(number.isWhole ? 12 : 7))
}

/** A number as the device takes it. */
export function rawOf({ capability, table, number, scale, isSwapped }, value) {
  if (table.isBit) return value !== 0
  const raw = number.isWhole ? Math.round(value / scale) : value / scale
  const buffer = Buffer.alloc(number.registers * 2)
  try {
    number.put(buffer, raw)
  } catch {
    throw new Error(`${value} does not fit into ${capability}`)
  }
  return isSwapped ? buffer.swap16().reverse() : buffer
}

/** Writes it; resolves once the device has acknowledged it. */
export const writePoint = (client, { table, address }, raw) =>
  table.isBit ? client.writeCoil(address, raw) : client.writeRegisters(address, raw)
