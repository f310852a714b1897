/**
 * Records: svc-cbor maps with unsigned keys, declared once as a table of fields. From the table come the TypeScript
 * type, the strict decoder (unknown, missing or mistyped keys are refused) and the encoder.
 */

import { Malformed, utf8Length } from './bytes.ts'
import { type CborMap, type CborValue, decode, encode } from './cbor.ts'

/** One kind of value: how it is checked when read and how it is written. */
export interface Field<T> {
  read(value: CborValue, name: string): T
  write(value: T): CborValue
}

type Entry<T, Optional extends boolean> = { key: number; field: Field<T>; optional: Optional }
type Shape = Record<string, Entry<unknown, boolean>>
type RequiredNames<S extends Shape> = { [N in keyof S]: S[N]['optional'] extends true ? never : N }[keyof S]
type Value<E> = E extends Entry<infer T, boolean> ? T : never
type Simplify<T> = { [N in keyof T]: T[N] }

/** Members that a table of fields declares; a member whose key is optional may be absent. */
export type RecordValue<S extends Shape> = Simplify<
  { [N in RequiredNames<S>]: Value<S[N]> } & { [N in Exclude<keyof S, RequiredNames<S>>]?: Value<S[N]> }
>

/** A record as a field and as bytes; `encode` throws TypeError where a required member is absent. */
export interface RecordCodec<T> extends Field<T> {
  encode(value: T): Uint8Array
  /** Throws {@link Malformed} unless the bytes are exactly one such record. */
  decode(bytes: Uint8Array): T
}

/** The value type of a record codec: `type Body = Infer<typeof Body>`. */
export type Infer<C> = C extends Field<infer T> ? T : never

/** A field whose key must be there. */
export function required<T>(key: number, field: Field<T>): Entry<T, false> {
  return { key, field, optional: false }
}

/** A field whose key is absent when the value is. */
export function optional<T>(key: number, field: Field<T>): Entry<T, true> {
  return { key, field, optional: true }
}

/** Declares a record; `name` appears in refusals. */
export function record<S extends Shape>(name: string, shape: S): RecordCodec<RecordValue<S>> {
  const entries = Object.entries(shape)
  const known = new Set(entries.map(([, entry]) => entry.key))
  const codec: RecordCodec<RecordValue<S>> = {
    read(value) {
      if (!(value instanceof Map)) throw new Malformed(`${name} is not a map`)
      const unknown = value.keys().find(key => typeof key !== 'number' || !known.has(key))
      if (unknown !== undefined) throw new Malformed(`${name} has an unknown key ${unknown}`)
      return readMembers(name, entries, value) as RecordValue<S>
    },
    write(value) {
      const map: CborMap = new Map()
      for (const [member, entry] of entries) {
        const item = (value as Record<string, unknown>)[member]
        if (item !== undefined) map.set(entry.key, entry.field.write(item))
        else if (!entry.optional) throw new TypeError(`${name} needs ${member}`)
      }
      return map
    },
    encode: value => encode(codec.write(value)),
    decode: bytes => codec.read(decode(bytes, { floats: true }), name),
  }
  return codec
}

/** The same record, where its members must also agree with each other: `check` throws {@link Malformed}. */
export function checked<T>(codec: RecordCodec<T>, check: (value: T) => void): RecordCodec<T> {
  const pass = (value: T): T => {
    check(value)
    return value
  }
  return {
    read: (value, name) => pass(codec.read(value, name)),
    write: value => codec.write(pass(value)),
    encode: value => codec.encode(pass(value)),
    decode: bytes => pass(codec.decode(bytes)),
  }
}

function readMembers(name: string, entries: [string, Shape[string]][], value: CborMap) {
  const out: Record<string, unknown> = {}
  for (const [member, { key, field, optional }] of entries) {
    const item = value.get(key)
    if (item !== undefined) out[member] = field.read(item, `${name} ${member}`)
    else if (!optional) throw new Malformed(`${name} is missing ${member} (key ${key})`)
  }
  return out
}

function typed<T extends CborValue>(what: string, accepts: (value: CborValue) => value is T): Field<T> {
  return {
    read(value, name) {
      if (!accepts(value)) throw new Malformed(`${name} is not ${what}`)
      return value
    },
    write: value => value,
  }
}

/** 0 to 2^53 − 1; reading anything else throws {@link Malformed} (objects §2). */
export const uint: Field<number> = typed(
  'an unsigned integer',
  (value): value is number => typeof value === 'number' && value >= 0,
)
/** −(2^53 − 1) to 2^53 − 1; reading anything else throws {@link Malformed} (objects §2). */
export const int: Field<number> = typed('an integer', (value): value is number => typeof value === 'number')
/** Reading anything but true and false throws {@link Malformed}. */
export const bool: Field<boolean> = typed(
  'a boolean',
  (value): value is boolean => typeof value === 'boolean',
)

/** Text of at most `bytesMax` UTF-8 bytes. */
export function text(bytesMax: number): Field<string> {
  return typed(
    `text of at most ${bytesMax} bytes`,
    (value): value is string => typeof value === 'string' && utf8Length(value) <= bytesMax,
  )
}

/** A byte string of exactly `length` bytes. */
export function bytes(length: number): Field<Uint8Array> {
  return typed(
    `${length} bytes`,
    (value): value is Uint8Array => value instanceof Uint8Array && value.length === length,
  )
}

/** A byte string of at most `bytesMax` bytes. */
export function blob(bytesMax: number): Field<Uint8Array> {
  return typed(
    `at most ${bytesMax} bytes`,
    (value): value is Uint8Array => value instanceof Uint8Array && value.length <= bytesMax,
  )
}

/** Exactly this number, text or boolean. */
export function literal<const T extends number | string | boolean>(expected: T): Field<T> {
  return typed(JSON.stringify(expected), (value): value is T => value === expected)
}

/** One of these numbers or texts. */
export function oneOf<const T extends number | string>(...expected: T[]): Field<T> {
  return typed(`one of ${expected.join(', ')}`, (value): value is T => expected.includes(value as T))
}

/** The field, or CBOR null. */
export function nullable<T>(field: Field<T>): Field<T | null> {
  return {
    read: (value, name) => (value === null ? null : field.read(value, name)),
    write: value => (value === null ? null : field.write(value)),
  }
}

/** An array of `min` to `max` items. */
export function list<T>(field: Field<T>, max: number, min = 0): Field<T[]> {
  return {
    read(value, name) {
      if (!Array.isArray(value)) throw new Malformed(`${name} is not an array`)
      if (value.length < min || value.length > max) {
        throw new Malformed(`${name} has ${value.length} items; expected ${min} to ${max}`)
      }
      return value.map((item, i) => field.read(item, `${name}[${i}]`))
    },
    write: value => value.map(item => field.write(item)),
  }
}

/** An array with one field per position. */
export function tuple<T extends unknown[]>(...fields: { [I in keyof T]: Field<T[I]> }): Field<T> {
  return {
    read(value, name) {
      if (!Array.isArray(value) || value.length !== fields.length) {
        throw new Malformed(`${name} is not an array of ${fields.length}`)
      }
      return fields.map((field, i) => field.read(value[i] as CborValue, `${name}[${i}]`)) as T
    },
    write: value => fields.map((field, i) => field.write(value[i])),
  }
}

/** Any svc-cbor item, embedded as it is. */
export const item: Field<CborValue> = { read: value => value, write: value => value }

/** Text in JSON, bytes in CBOR: maps a stored field onto another value with a strict parser. */
export function mapped<S, T>(field: Field<S>, parse: (stored: S) => T, print: (value: T) => S): Field<T> {
  return { read: (value, name) => parse(field.read(value, name)), write: value => field.write(print(value)) }
}
