/**
 * Takes one long base64 text after another out of JSON that comes in pieces, so that neither lies in memory as a whole. What
 * is left is JSON with empty texts in their places, which is then read as strictly as any other.
 */
import { concat, fromBase64, Malformed, toBase64, utf8 } from './bytes.ts'

/** Which texts are taken out: string values of this member at this depth, where 1 is the outermost object. */
export type Lifting = {
  member: string
  depth: number
  /** Bytes of all else at most. */
  restBytesMax: number
}

/** What takes a text: its bytes in order, then its end. `spoil`: takes it for what it is where it is no base64. */
export type TextTaker = {
  take(bytes: Uint8Array): Promise<void> | void
  end(): Promise<void> | void
  spoil?(): void
}

/** What a piece of JSON had: many characters of a text that is taken out, or the end of that text. */
type Step = Uint8Array | typeof END
const END = Symbol('end of a text')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN = new Set([0x5b, 0x7b])
const CLOSE = new Set([0x5d, 0x7d])
const SPACE = new Set([0x20, 0x0a, 0x0d, 0x09])
const SIMPLE_ESCAPE = /^["\\/bfnrt]$/
const UNICODE_ESCAPE = /^u[0-9a-fA-F]{4}$/
const UNICODE_ESCAPE_LENGTH = 5
/** A name is not looked at beyond this: each of its characters may be an escape. */
const NAME_BYTES_PER_CHARACTER = 6

/** So much is written at once. */
const PIECE_BYTES = 192 * 1024

/** A text of so many characters is handed on; one that is short is held until its end. */
const CHARACTERS_FULL = 64 * 1024
const CHARACTERS_MIN = 256
const NO_BASE64 = 0xff

type Place = 'outside' | 'string' | 'escape' | 'lifted' | 'liftedEscape'

/** Follows JSON piece by piece; judges no more of it than it needs to find its texts. */
class Scanner {
  readonly #lifting: Lifting
  readonly #nameBytesMax: number
  readonly #rest: Uint8Array[] = []
  #restBytes = 0
  #place: Place = 'outside'
  #depth = 0
  /** The last string outside of lifted ones, as it stands in the text. */
  #last = ''
  /** It is the name of the member whose value comes. */
  #isNamed = false
  #escape = ''
  readonly #characters = new Characters()

  constructor(lifting: Lifting) {
    this.#lifting = lifting
    this.#nameBytesMax = lifting.member.length * NAME_BYTES_PER_CHARACTER
  }

  /** Follows the next piece. */
  *scan(bytes: Uint8Array): Generator<Step> {
    for (let at = 0; at < bytes.length; ) {
      const isLifted = this.#place === 'lifted' || this.#place === 'liftedEscape'
      const end = isLifted ? at : this.#skip(bytes, at)
      this.#keep(bytes.subarray(at, end))
      at = end
      if (at < bytes.length && isLifted) at = yield* this.#lift(bytes, at)
    }
  }

  /** All of it but the texts that were taken out. */
  rest(): Uint8Array {
    return concat(...this.#rest)
  }

  #keep(part: Uint8Array): void {
    this.#restBytes += part.length
    if (this.#restBytes > this.#lifting.restBytesMax) throw new TooMuchBeside()
    if (part.length > 0) this.#rest.push(part.slice())
  }

  /** Where the first character of a text stands that is taken out, or the end of the piece. */
  #skip(bytes: Uint8Array, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (this.#place === 'outside') this.#stepOutside(byte)
      else this.#stepInside(byte)
      if (this.#place === 'lifted') return at + 1
    }
    return bytes.length
  }

  #stepInside(byte: number): void {
    if (this.#place === 'string' && byte === QUOTE) {
      this.#place = 'outside'
      return
    }
    this.#place = this.#place === 'string' && byte === BACKSLASH ? 'escape' : 'string'
    if (this.#last.length <= this.#nameBytesMax) this.#last += String.fromCharCode(byte)
  }

  #stepOutside(byte: number): void {
    if (SPACE.has(byte)) return
    if (byte === QUOTE) {
      this.#place = this.#isNamed && this.#depth === this.#lifting.depth ? 'lifted' : 'string'
      this.#last = ''
    }
    if (OPEN.has(byte)) this.#depth += 1
    if (CLOSE.has(byte)) this.#depth -= 1
    this.#isNamed = byte === COLON && this.#isName(this.#last)
  }

  #isName(written: string): boolean {
    const { member } = this.#lifting
    if (!written.includes('\\')) return written === member
    try {
      return JSON.parse(`"${written}"`) === member
    } catch {
      return false
    }
  }

  /** The part of the text that is in this piece; gives where it goes on. */
  *#lift(bytes: Uint8Array, from: number): Generator<Step, number> {
    let quote = -1
    for (let at = from; at < bytes.length; ) {
      if (quote < at) quote = placeOf(QUOTE, bytes, at)
      if (this.#place === 'liftedEscape') this.#takeEscape(bytes[at++] as number)
      else if (at === quote) return yield* this.#endText(bytes, at)
      else if (bytes[at] === BACKSLASH) {
        this.#place = 'liftedEscape'
        this.#escape = ''
        at++
      } else {
        const end = placeOf(BACKSLASH, bytes.subarray(0, quote), at)
        this.#characters.put(bytes.subarray(at, end))
        at = end
      }
      if (this.#characters.isFull) yield this.#characters.take()
    }
    return bytes.length
  }

  *#endText(bytes: Uint8Array, at: number): Generator<Step, number> {
    this.#place = 'outside'
    this.#keep(bytes.subarray(at, at + 1))
    yield this.#characters.take()
    yield END
    return at + 1
  }

  #takeEscape(byte: number): void {
    this.#escape += String.fromCharCode(byte)
    if (SIMPLE_ESCAPE.test(this.#escape) || UNICODE_ESCAPE.test(this.#escape)) {
      this.#place = 'lifted'
      const code = (JSON.parse(`"\\${this.#escape}"`) as string).charCodeAt(0)
      // base64 is ASCII, and what is not is refused there
      this.#characters.put(Uint8Array.of(Math.min(code, NO_BASE64)))
    } else if (!this.#escape.startsWith('u') || this.#escape.length >= UNICODE_ESCAPE_LENGTH)
      throw new Malformed('a string of the JSON has an unknown escape')
  }
}

/** Characters that are held until they are worth a step: whoever writes each as an escape gets no step for each. */
class Characters {
  #held = new Uint8Array(CHARACTERS_MIN)
  #length = 0

  get isFull(): boolean {
    return this.#length >= CHARACTERS_FULL
  }

  put(run: Uint8Array): void {
    const length = this.#length + run.length
    if (length > this.#held.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#held.length))
      larger.set(this.#held.subarray(0, this.#length))
      this.#held = larger
    }
    this.#held.set(run, this.#length)
    this.#length = length
  }

  take(): Uint8Array {
    const taken = this.#held.subarray(0, this.#length)
    this.#held = new Uint8Array(CHARACTERS_MIN)
    this.#length = 0
    return taken
  }
}

/** Where a byte stands next, or the end. */
function placeOf(byte: number, bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(byte, from)
  return at < 0 ? bytes.length : at
}

const latin1Decoder = new TextDecoder('latin1')
const latin1 = (bytes: Uint8Array): string => latin1Decoder.decode(bytes)

/** What stands beside the texts is more than may be. */
export class TooMuchBeside extends Malformed {
  override name = 'TooMuchBeside'
  constructor() {
    super('there is too much beside the long text')
  }
}

/** Strict base64 that comes in pieces. */
class Base64Pieces {
  #held = ''
  #isPadded = false

  /** The bytes that are whole by now. */
  take(text: string): Uint8Array {
    const all = this.#held + text
    const whole = all.length - (all.length % 4)
    this.#held = all.slice(whole)
    if (this.#isPadded && all !== '') throw notBase64()
    this.#isPadded = whole > 0 && all[whole - 1] === '='
    return fromBase64(all.slice(0, whole), 'the long text')
  }

  end(): undefined {
    if (this.#held !== '') throw notBase64()
  }
}

const notBase64 = (): Malformed => new Malformed('the long text is not base64')

/**
 * Reads JSON to its end and hands each text that is taken out to a taker of its own. Gives the rest, with empty texts in
 * their places. Throws `Malformed` for what is no base64 where its taker spoils nothing, {@link TooMuchBeside}, and what a
 * taker throws.
 */
export async function liftTexts(
  pieces: AsyncIterable<Uint8Array>,
  lifting: Lifting,
  open: () => TextTaker,
): Promise<Uint8Array> {
  const scanner = new Scanner(lifting)
  let under: Lifted | undefined
  for await (const piece of pieces)
    for (const step of scanner.scan(piece)) {
      under ??= new Lifted(open())
      await under.step(step)
      if (step === END) under = undefined
    }
  return scanner.rest()
}

/** One text on its way to its taker. */
class Lifted {
  readonly #taker: TextTaker
  readonly #base64 = new Base64Pieces()
  #isSpoilt = false

  constructor(taker: TextTaker) {
    this.#taker = taker
  }

  async step(step: Step): Promise<void> {
    const bytes = this.#isSpoilt ? undefined : this.#decoded(step)
    if (bytes !== undefined && bytes.length > 0) await this.#taker.take(bytes)
    if (step === END) await this.#taker.end()
  }

  #decoded(step: Step): Uint8Array | undefined {
    try {
      return step === END ? this.#base64.end() : this.#base64.take(latin1(step))
    } catch (error) {
      if (!(error instanceof Malformed) || this.#taker.spoil === undefined) throw error
      this.#isSpoilt = true
      this.#taker.spoil()
      return undefined
    }
  }
}

/** The JSON of an object whose last member is a long text: the base64 of bytes that come in pieces. */
export async function* jsonWithText(
  members: Readonly<Record<string, unknown>>,
  member: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { [member]: _, ...others } = members
  const before = JSON.stringify(others).slice(0, -1)
  yield utf8(`${before}${before === '{' ? '' : ','}${JSON.stringify(member)}:"`)
  let held: Uint8Array = new Uint8Array(0)
  for await (const given of bytes)
    for (let at = 0; at < given.length; at += PIECE_BYTES) {
      const all = concat(held, given.subarray(at, at + PIECE_BYTES))
      const whole = all.length - (all.length % 3)
      if (whole > 0) yield utf8(toBase64(all.subarray(0, whole)))
      held = all.subarray(whole)
    }
  yield utf8(`${toBase64(held)}"}`)
}
