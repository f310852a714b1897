/** An adapter as a test plays it: what it writes, and what it is told, line by line. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export type Line = Readonly<Record<string, unknown>>

export class TestAdapter {
  readonly #socket: Socket
  readonly #lines: Line[] = []
  readonly #waiting: { isIt: (line: Line) => boolean; tell: (line: Line) => void }[] = []
  #rest = ''
  isOver = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line) as Line)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isOver = true
    })
  }

  /** Connects, without a word. */
  static async connect(path: string): Promise<TestAdapter> {
    const socket = connect(path)
    await once(socket, 'connect')
    return new TestAdapter(socket)
  }

  static async open(path: string, adapter = 'test'): Promise<TestAdapter> {
    const opened = await TestAdapter.connect(path)
    opened.say({ type: 'hello', version: 1, adapter })
    await opened.next('welcome')
    return opened
  }

  #take(line: Line): void {
    const at = this.#waiting.findIndex(({ isIt }) => isIt(line))
    const [found] = at < 0 ? [] : this.#waiting.splice(at, 1)
    if (found === undefined) this.#lines.push(line)
    else found.tell(line)
  }

  say(line: Line): void {
    this.raw(`${JSON.stringify(line)}\n`)
  }

  raw(text: string | Uint8Array): void {
    this.#socket.write(text)
  }

  /** The next line of this type, also one that came before. */
  async next(type: string): Promise<Line> {
    const isIt = (line: Line) => line['type'] === type
    const at = this.#lines.findIndex(isIt)
    if (at >= 0) return this.#lines.splice(at, 1)[0] as Line
    const { promise, resolve } = Promise.withResolvers<Line>()
    this.#waiting.push({ isIt, tell: resolve })
    return promise
  }

  /** Answers the next question of this type. */
  async answer(type: 'read' | 'write', reading: Line): Promise<Line> {
    const asked = await this.next(type)
    this.say({ type: 'result', id: asked['id'], status: 'OK', ...reading })
    return asked
  }

  /** Reads nothing any more. */
  stall(): void {
    this.#socket.pause()
  }

  end(): void {
    this.#socket.destroy()
  }
}

/** A thermostat with everything that a device can have. */
export const THERMOSTAT = {
  type: 'describe',
  device: 'kitchen',
  protocol: 'modbus',
  verify_trust: 'V2',
  auth_trust: 'A1',
  capabilities: [
    { capability: 'temperature', access: ['read', 'subscribe'], kind: 'number', unit: '°C' },
    {
      capability: 'target',
      access: ['read', 'write'],
      kind: 'number',
      minimum: 5,
      maximum: 30,
      tolerance: 0.1,
    },
    { capability: 'mode', access: ['read', 'write'], kind: 'text', values: ['heat', 'off'] },
    { capability: 'valve', access: ['read', 'write'], kind: 'number', quirks: ['inverted-percent'] },
    { capability: 'lamp', access: ['read', 'write'], kind: 'boolean', quirks: ['echoed-state'] },
    { capability: 'picture', access: ['read'], kind: 'snapshot' },
    { capability: 'film', access: ['read'], kind: 'stream' },
  ],
} as const
