/**
 * The node's side of an adapter: connects to the socket of a node, describes devices, and brings questions to what serves
 * them. It connects again by itself. Lines and members are those of docs/devices.md.
 */
import { connect } from 'node:net'

const RETRY_MS = 1000
const MESSAGE_BYTES_MAX = 300
const NAMES = ['name', 'vendor', 'model']
const NAME_BYTES_MAX = 128

/** The device can't be reached: what is asked of it is unavailable, and may be asked again later. */
export class Unavailable extends Error {
  name = 'Unavailable'
}

/**
 * `serve` has `read(device, capability)` and `write(device, capability, value)`, which resolve to the members of a result,
 * and `subscribe(device, capability, tell)`, which returns what ends it. `log` gets a line for people.
 */
export class Link {
  #given
  #socket
  #rest = ''
  #isReady = false
  #isOver = false
  /** Descriptions, and whether each device is online, by its id. */
  #devices = new Map()
  #subscriptions = new Map()

  constructor(given) {
    this.#given = given
    this.#open()
  }

  /** Describes a device, or describes it anew. One that did not change is not told again. */
  describe(given) {
    const description = withNames(given)
    const { device } = description
    const before = this.#devices.get(device)
    if (JSON.stringify(before) === JSON.stringify(description)) return
    this.#devices.set(device, description)
    this.#say({ type: 'describe', ...description })
  }

  /** Says that a device went, or came back. */
  state(device, online) {
    const known = this.#devices.get(device)
    if (known === undefined || (known.online ?? true) === online) return
    this.#devices.set(device, { ...known, online })
    this.#say({ type: 'state', device, online })
  }

  forget(device) {
    if (this.#devices.delete(device)) this.#say({ type: 'forget', device })
  }

  close() {
    this.#isOver = true
    this.#socket.destroy()
  }

  #open() {
    const { path, name, log = console.error } = this.#given
    const socket = connect(path)
    this.#socket = socket
    this.#rest = ''
    socket.setEncoding('utf8')
    socket.on('connect', () => {
      socket.write(`${JSON.stringify({ type: 'hello', version: 1, adapter: name })}\n`)
    })
    socket.on('data', text => this.#take(text))
    socket.on('error', ({ message }) => this.#isOver || log(`no node: ${message}`))
    socket.on('close', () => {
      this.#isReady = false
      for (const end of this.#subscriptions.values()) end()
      this.#subscriptions.clear()
      if (!this.#isOver) setTimeout(() => this.#isOver || this.#open(), RETRY_MS)
    })
  }

  #say(line) {
    if (this.#isReady) this.#socket.write(`${JSON.stringify(line)}\n`)
  }

  #take(text) {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()
    for (const line of lines) void this.#obey(JSON.parse(line))
  }

  #obey(line) {
    const { serve, log = console.error } = this.#given
    switch (line.type) {
      case 'welcome':
        this.#isReady = true
        for (const description of this.#devices.values()) this.#say({ type: 'describe', ...description })
        return
      case 'read':
        return this.#answer(line.id, () => serve.read(line.device, line.capability))
      case 'write':
        return this.#answer(line.id, () => serve.write(line.device, line.capability, line.value))
      case 'subscribe':
        return this.#subscribe(line)
      case 'unsubscribe':
        this.#subscriptions.get(line.id)?.()
        this.#subscriptions.delete(line.id)
        return
      case 'refused':
        log(`the node refused: ${line.error}`)
    }
  }

  async #answer(id, work) {
    const socket = this.#socket
    let result
    try {
      result = { status: 'OK', ...numbered(await work()) }
    } catch (error) {
      const status = error instanceof Unavailable ? 'UNAVAILABLE' : 'FAILED'
      result = { status, message: oneLine(error.message) }
    }
    // an answer to a question of an earlier connection is nobody's
    if (socket === this.#socket) this.#say({ type: 'result', id, ...result })
  }

  #subscribe({ id, device, capability }) {
    const { serve } = this.#given
    try {
      const tell = reading => isNumbered(reading) && this.#say({ type: 'event', id, ...reading })
      const end = serve.subscribe(device, capability, tell)
      this.#subscriptions.set(id, end)
    } catch (error) {
      this.#say({ type: 'ended', id, message: oneLine(error.message) })
    }
  }
}

/** A value that JSON has, as not each number of a device is. */
const isNumbered = ({ value }) => typeof value !== 'number' || Number.isFinite(value)

function numbered(reading) {
  if (isNumbered(reading)) return reading
  throw new Error('the device gives no number')
}

/** Words of others as a line that the node takes, empty where nothing is left. */
const lineOf = (text, bytesMax) => {
  const words = text.replace(/[\p{C}\p{Default_Ignorable_Code_Point}]+|\s+/gu, ' ').trim()
  let line = ''
  for (const character of words) {
    if (Buffer.byteLength(line + character) > bytesMax) break
    line += character
  }
  return line.trim()
}
const oneLine = text => lineOf(text, MESSAGE_BYTES_MAX) || 'failed'

/** A name that its device chose itself may be anything. */
function withNames(description) {
  const named = NAMES.map(name => [name, lineOf(String(description[name] ?? ''), NAME_BYTES_MAX)])
  const { name: _, vendor: __, model: ___, ...rest } = description
  return { ...rest, ...Object.fromEntries(named.filter(([, line]) => line !== '')) }
}

/** What an adapter is started with: `<program> <settings file> <socket of the node>`. */
export function givenPaths(usage) {
  const [settings, path] = process.argv.slice(2)
  if (settings !== undefined && path !== undefined) return { settings, path }
  console.error(`usage: ${usage} <settings.json> <data directory of the node>/devices.sock`)
  process.exit(2)
}
