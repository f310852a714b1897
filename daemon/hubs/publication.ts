/**
 * The two guards on everything that this node hands to a hub: nothing org-scoped leaves, by its type or as a value
 * (INV-1), and no secret stands in the bytes that are sent (INV-2). What goes to a peer directly is not guarded.
 */
import { fromUtf8, utf8 } from '../../protocol/encoding/bytes.ts'
import { refuse } from '../refusal.ts'

const ORG_SCOPED = Symbol('org-scoped')

/** A value that stays inside the organisation: it is no JSON for any type that is published, nor for `JSON.stringify`. */
export class OrgScoped<T> {
  readonly [ORG_SCOPED] = true
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  /** The value itself, for whoever may have it. */
  reveal(): T {
    return this.#value
  }

  toJSON(): never {
    throw new TypeError('an org-scoped value is never serialized')
  }
}

type Secrets = () => readonly string[]

/** What a module holds that must stand in nothing that is published, by a name that can be told. */
export class Publication {
  readonly #secrets = new Map<string, Secrets>()

  /** From now on none of these may stand in what is sent; they are asked for each time. */
  declare(name: string, secrets: Secrets): void {
    this.#secrets.set(name, secrets)
  }

  /** Refuses a body that may not leave; `encode` gives the bytes that would be sent. */
  check(body: unknown, encode: () => Uint8Array): void {
    const path = orgScopedIn(body)
    if (path !== undefined)
      refuse('bad_request', `${path} is org-scoped and stays inside the organisation; nothing was published`)
    const sent = encode()
    const text = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength)
    for (const [name, secrets] of this.#secrets)
      for (const secret of secrets())
        if (spellings(secret).some(one => text.includes(one)))
          refuse('bad_request', `${memberWith(body, secret)} would publish ${name}; nothing was published`)
  }
}

/** As it stands in bytes, also where JSON escapes it. */
const spellings = (secret: string): Uint8Array[] =>
  secret === '' ? [] : [utf8(secret), utf8(JSON.stringify(secret).slice(1, -1))]

function memberWith(body: unknown, secret: string): string {
  const members = body !== null && typeof body === 'object' ? Object.entries(body) : []
  const found = members.find(([, value]) =>
    spellings(secret).some(one => shown(value).includes(fromUtf8(one))),
  )
  return found?.[0] ?? 'the request'
}

const shown = (value: unknown): string => JSON.stringify(value) ?? ''

/** Where in a value something org-scoped stands; undefined where nothing does. */
function orgScopedIn(value: unknown, path = 'the request', seen = new Set<object>()): string | undefined {
  if (value === null || typeof value !== 'object' || seen.has(value)) return undefined
  if (ORG_SCOPED in value) return path
  seen.add(value)
  const inner: [unknown, unknown][] =
    value instanceof Map ? [...value] : value instanceof Set ? [...value.entries()] : Object.entries(value)
  for (const [name, item] of inner) {
    const found = orgScopedIn(name, path, seen) ?? orgScopedIn(item, String(name), seen)
    if (found !== undefined) return found
  }
  return undefined
}
