/**
 * The connection of one adapter. Everything that it writes is judged before it counts; what breaks the rules ends the
 * connection with a sentence that says why. Calls that wait then are answered at once, and its devices are offline.
 */
import type { Socket } from 'node:net'
import { faultOf } from '../../../protocol/contract/fault.ts'
import { Malformed } from '../../../protocol/encoding/bytes.ts'
import { type JsonValue, parseJson } from '../../../protocol/encoding/json.ts'
import { present } from '../../../protocol/encoding/present.ts'
import type { Timer, Timers } from '../../../protocol/timers.ts'
import type { Adapter, Answer, Asked, Devices, Heard } from './devices.ts'
import { deviceId, Frame, LINK_VERSION, type ToAdapter, type Value } from './frames.ts'
import { limits } from './limits.ts'
import { Lines } from './lines.ts'

const isObject = (given: JsonValue): given is { [name: string]: JsonValue } =>
  typeof given === 'object' && given !== null && !Array.isArray(given)
const deviceIn = (given: JsonValue | undefined): string | undefined => deviceId.safeParse(given).data

const SECOND_MS = 1_000
const LINGER_MS = 1_000

type Parts = {
  socket: Socket
  timers: Timers
  devices: Devices
  /** Called once, with why it ended. */
  ended: (link: AdapterLink, words: string) => void
}

export class AdapterLink implements Adapter {
  readonly #parts: Parts
  readonly #lines: Lines
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  readonly #heard = new Map<number, Heard>()
  readonly #silent: Timer
  #name = ''
  #lastId = 0
  #isOver = false

  constructor(parts: Parts) {
    this.#parts = parts
    const { socket, timers } = parts
    this.#lines = new Lines({
      timers,
      line: bytes => this.#take(bytes),
      fault: words => this.#refuse(words),
    })
    const words = `no hello within ${limits.helloMs.value / SECOND_MS} s`
    this.#silent = timers.after(limits.helloMs.value, () => this.#refuse(words))
    socket.on('data', (chunk: Buffer) => this.#lines.take(chunk))
    socket.on('error', () => this.end('the connection broke'))
    socket.on('close', () => this.end('the adapter left'))
  }

  get name(): string {
    return this.#name
  }

  read(asked: Asked, signal: AbortSignal): Promise<Answer> {
    const timeout_ms = limits.readMs.value
    return this.#ask({ type: 'read', id: this.#nextId(), ...asked, timeout_ms }, signal)
  }

  write(asked: Asked, value: Value, signal: AbortSignal): Promise<Answer> {
    const timeout_ms = limits.writeMs.value
    return this.#ask({ type: 'write', id: this.#nextId(), ...asked, value, timeout_ms }, signal)
  }

  subscribe(asked: Asked, heard: Heard): (() => void) | undefined {
    if (this.#isOver || this.#heard.size >= limits.watches.value) return undefined
    const id = this.#nextId()
    this.#heard.set(id, heard)
    this.#send({ type: 'subscribe', id, ...asked })
    return () => {
      if (this.#heard.delete(id)) this.#send({ type: 'unsubscribe', id })
    }
  }

  /** Ends the connection; what waits for the adapter is told. */
  end(words: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const { socket, timers, devices, ended } = this.#parts
    timers.clear(this.#silent)
    this.#lines.close()
    devices.left(this)
    for (const answer of [...this.#waiting.values()]) answer('gone')
    for (const heard of [...this.#heard.values()]) heard.ended('device offline')
    this.#heard.clear()
    // what was written last is read by an adapter that reads at all
    socket.destroySoon()
    timers.after(LINGER_MS, () => socket.destroy()).unref()
    ended(this, words)
  }

  #nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  async #ask(frame: Extract<ToAdapter, { timeout_ms: number }>, signal: AbortSignal): Promise<Answer> {
    const { timers } = this.#parts
    if (this.#isOver) return 'gone'
    if (signal.aborted) return 'left'
    if (this.#waiting.size >= limits.pending.value) return 'busy'
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const onAbort = () => resolve('left')
    signal.addEventListener('abort', onAbort, { once: true })
    const late = timers.after(frame.timeout_ms, () => resolve('late'))
    this.#waiting.set(frame.id, resolve)
    this.#send(frame)
    try {
      return await promise
    } finally {
      timers.clear(late)
      signal.removeEventListener('abort', onAbort)
      this.#waiting.delete(frame.id)
    }
  }

  #send(frame: ToAdapter): void {
    const { socket } = this.#parts
    if (this.#isOver || !socket.writable) return
    socket.write(`${JSON.stringify(frame)}\n`)
    if (socket.writableLength > limits.backlogBytes.value) {
      socket.destroy()
      this.end('the adapter does not read')
    }
  }

  #refuse(error: string): void {
    this.#send({ type: 'refused', error })
    this.end(error)
  }

  #take(bytes: Uint8Array): void {
    let given: JsonValue
    try {
      given = parseJson(bytes, { valuesMax: limits.lineValues.value })
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      return void this.#refuse(`a line is no JSON: ${error.message}`)
    }
    const parsed = Frame.safeParse(given)
    if (!parsed.success) return void this.#refuseLine(given, faultOf(parsed.error, given, 'the line'))
    if (this.#name === '' && parsed.data.type !== 'hello') return void this.#refuse('begin with hello')
    this.#obey(parsed.data)
  }

  /** What is said of one device, or to one question, harms no other where it can't be taken. */
  #refuseLine(given: JsonValue, error: string): void {
    const { type, device, id } = isObject(given) && this.#name !== '' ? given : {}
    switch (type) {
      case 'describe':
        return void this.#send({ type: 'refused', error, ...present({ device: deviceIn(device) }) })
      case 'result':
        if (typeof id === 'number') this.#waiting.get(id)?.({ fault: error })
        return void this.#send({ type: 'refused', error })
      case 'event':
        return void this.#send({ type: 'refused', error })
      default:
        return void this.#refuse(error)
    }
  }

  #obey(frame: Frame): void {
    const { devices } = this.#parts
    switch (frame.type) {
      case 'hello':
        return void this.#greet(frame.adapter)
      case 'describe':
        return void this.#answer(frame.device, devices.describe(this, frame))
      case 'state':
        return void this.#answer(frame.device, devices.state(this, frame.device, frame.online))
      case 'forget':
        return void this.#answer(frame.device, devices.forget(this, frame.device))
      // an answer that nobody waits for any more comes late, and says nothing
      case 'result':
        return void this.#waiting.get(frame.id)?.(frame)
      case 'event':
        return void this.#heard.get(frame.id)?.news(frame)
      case 'ended': {
        const heard = this.#heard.get(frame.id)
        this.#heard.delete(frame.id)
        return void heard?.ended(frame.message ?? 'the adapter ended the subscription')
      }
    }
  }

  #greet(name: string): void {
    if (this.#name !== '') return void this.#refuse('hello was said already')
    this.#parts.timers.clear(this.#silent)
    this.#name = name
    this.#send({ type: 'welcome', version: LINK_VERSION })
  }

  /** A device that can't be taken harms none of the others. */
  #answer(device: string, error: string | undefined): void {
    if (error !== undefined) this.#send({ type: 'refused', error, ...present({ device }) })
  }
}
