/**
 * A key event log whose events are read when they are looked at: of a log that is known but for its end only the end
 * costs anything, and one out of a store costs nothing but its outer form. Its signatures can be checked elsewhere.
 */
import { labelled } from '../crypto/hash.ts'
import { Malformed } from '../encoding/bytes.ts'
import { type CborValue, decode } from '../encoding/cbor.ts'
import { KEL_BYTES_MAX, KEL_EVENTS_MAX, KEL_LABEL, KelInvalid, type KeyEvent, keyEvent } from './kel.ts'

class LazyEvent implements KeyEvent {
  readonly bodyBytes: Uint8Array
  readonly #item: CborValue
  #read: KeyEvent | undefined

  constructor(item: CborValue) {
    const [bodyBytes] = Array.isArray(item) ? item : []
    if (!(bodyBytes instanceof Uint8Array)) throw new Malformed('key event log: expected events')
    this.bodyBytes = bodyBytes
    this.#item = item
  }

  get body(): KeyEvent['body'] {
    return this.#whole.body
  }

  get signatures(): KeyEvent['signatures'] {
    return this.#whole.signatures
  }

  get witnesses(): KeyEvent['witnesses'] {
    return this.#whole.witnesses
  }

  get #whole(): KeyEvent {
    this.#read ??= keyEvent.read(this.#item, 'key event log')
    return this.#read
  }
}

/** Parses a log as far as its outer form; an event throws {@link Malformed} when it is looked at. */
export function decodeKelLazily(log: Uint8Array): KeyEvent[] {
  if (log.length > KEL_BYTES_MAX) throw new KelInvalid('too_large')
  const items = decode(log)
  if (!Array.isArray(items)) throw new Malformed('key event log: expected a list')
  if (items.length > KEL_EVENTS_MAX) throw new KelInvalid('too_large', KEL_EVENTS_MAX)
  return items.map(item => new LazyEvent(item))
}

/** What the signature of an event covers, for who checks it elsewhere. */
export function signedByEvent(event: KeyEvent): {
  key: Uint8Array
  message: Uint8Array
  signature: Uint8Array
} {
  const [key] = event.body.keys.map(([, bytes]) => bytes)
  const [signature] = event.signatures.map(([, bytes]) => bytes)
  if (key === undefined || signature === undefined) throw new KelInvalid('wrong_signers', event.body.seq)
  return { key, message: labelled(KEL_LABEL, event.bodyBytes), signature }
}
