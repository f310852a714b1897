/** Mutations of JSON at its members: missing, of another type, huge, doubled, deep, no UTF-8, those of another place. */
import { utf8 } from '../../protocol/encoding/bytes.ts'
import type { Draw } from './mutate.ts'

type Holder = Record<string, unknown>
type Place = { holder: Holder; name: string }

const HOLE = '@@hole@@'
const TWIN = '@@twin@@'
const DEEP = 50_000
const LONG = 300_000
const MANY = 2000

/** Values as they stand in JSON; those that no text can hold are bytes. */
const VALUES: readonly Uint8Array[] = [
  ...['null', 'true', '0', '-1', '-0', '1.5', '1e999', '9007199254740991', '9007199254740993'],
  ...['""', '" "', '"x"', '"=="', '"____"', '{}', '[]', '[[]]', '{"__proto__":{"a":1}}', '"__proto__"'],
  ...['"\\ud800"', '"\\u0000\\u202e\\u001b[2J"', '"0000-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999Z"'],
  ...['"2026-02-30T25:61:61Z"', '"../../x"', '"host:99999"', '"javascript:1"'],
  `"${'a'.repeat(LONG)}"`,
  `[${'0,'.repeat(MANY)}0]`,
  '['.repeat(DEEP),
]
  .map(text => utf8(text))
  .concat([Uint8Array.of(0x22, 0xff, 0xfe, 0x22), Uint8Array.of(0x22, 0xc0, 0x80, 0x22)])

const pick = <T>(from: readonly T[], draw: Draw): T => from[draw(from.length)] as T

function* placesIn(value: unknown): Generator<Place> {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Holder
  for (const name of Object.keys(holder)) {
    yield { holder, name }
    yield* placesIn(holder[name])
  }
}

/** Bytes with others in the place of a piece of them. */
function replaced(text: string, piece: string, by: Uint8Array): Uint8Array {
  const at = text.indexOf(piece)
  return Buffer.concat([Buffer.from(text.slice(0, at)), by, Buffer.from(text.slice(at + piece.length))])
}

/** A real JSON text with one member changed. */
export function mutateMember(real: Uint8Array, draw: Draw): Uint8Array {
  const whole: Holder = { all: JSON.parse(Buffer.from(real).toString()) }
  const places = [...placesIn(whole)]
  const { holder, name } = pick(places, draw)
  const spelled = (): string => JSON.stringify(whole['all'])
  switch (draw(8)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(name), 1)
      else if (holder !== whole) delete holder[name]
      return utf8(spelled())
    case 1: {
      if (Array.isArray(holder) || holder === whole) return utf8(`${spelled()}${spelled()}`)
      holder[TWIN] = holder[name]
      return utf8(spelled().replace(JSON.stringify(TWIN), JSON.stringify(name)))
    }
    case 2: {
      const other = pick(places, draw)
      const value = structuredClone(other.holder[other.name])
      holder[name] = value
      return utf8(spelled())
    }
    case 3:
      if (!Array.isArray(holder)) return utf8(spelled())
      holder.push(...Array.from({ length: 1 + draw(3) }, () => holder[Number(name)]))
      return utf8(spelled())
    default:
      holder[name] = HOLE
      return replaced(spelled(), JSON.stringify(HOLE), pick(VALUES, draw))
  }
}
