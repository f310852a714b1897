/** What zigbee2mqtt says of a device (`exposes`), as capabilities: which there are, and how their values are written. */

const SET = 2
const GET = 4
const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/
const CAPABILITIES_MAX = 64
const VALUES_MAX = 64

const kinds = { numeric: 'number', binary: 'boolean', enum: 'text', text: 'text' }

/** Capabilities by the name of their property; a property within another one is none. */
export function capabilitiesOf(exposes) {
  const all = exposes.flatMap(each => each.features ?? [each])
  const known = all.filter(({ type, property }) => type in kinds && NAME.test(property ?? ''))
  const unique = new Map(known.map(each => [each.property, each]))
  return new Map(
    [...unique].slice(0, CAPABILITIES_MAX).map(([name, each]) => [name, capabilityOf(name, each)]),
  )
}

function capabilityOf(name, { type, access = 1, unit, value_min, value_max, values, value_on, value_off }) {
  const canGet = (access & GET) !== 0
  const canSet = (access & SET) !== 0
  const kind = kinds[type]
  const isList = kind === 'text' && Array.isArray(values) && values.length > 0 && values.length <= VALUES_MAX
  const described = {
    capability: name,
    access: canSet ? ['read', 'subscribe', 'write'] : ['read', 'subscribe'],
    kind,
    ...(kind === 'number' ? numbers({ unit, minimum: value_min, maximum: value_max }) : {}),
    ...(isList ? { values: values.map(String) } : {}),
    // without a question to the device, there is only what the bridge heard last, or was told
    ...(canGet ? {} : { quirks: [canSet ? 'echoed-state' : 'cached-state'] }),
  }
  return { described, canGet, on: value_on ?? true, off: value_off ?? false }
}

const numbers = ({ unit, ...bounds }) => ({
  ...Object.fromEntries(Object.entries(bounds).filter(([, value]) => typeof value === 'number')),
  ...(typeof unit === 'string' && unit.length <= 16 ? { unit } : {}),
})

/** A value as the device has it, for what the node was asked to write. */
export const toDevice = ({ described, on, off }, value) =>
  described.kind === 'boolean' ? (value ? on : off) : value

/** The members of a reading; a truth value is also a number, so that it can be checked. */
export function readingOf({ described, on, off }, value) {
  const { kind, capability } = described
  if (kind === 'boolean' && (value === on || value === off))
    return { value: value === on, metrics: { [capability]: value === on ? 1 : 0 } }
  if (kind === 'number' && typeof value === 'number') return { value }
  if (kind === 'text' && typeof value === 'string') return { value }
  throw new Error(`${capability} is ${JSON.stringify(value)?.slice(0, 80)}, which is no ${kind}`)
}
