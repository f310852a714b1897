/** An adapter as a test plays it: what it writes, and what it is told, line by line; and the node that it talks to. */
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { Effect } from '../../../protocol/proof/effect.ts'
import { TestTimers } from '../../../protocol/testing/timers.ts'
import { nextTurn } from '../../../protocol/timers.ts'
import { checkConfig } from '../../home/config.ts'
import { Publication } from '../../hubs/publication.ts'
import type { TestNode } from '../../testing/node.ts'
import { runProvider } from '../provider.ts'
import { module as svclink } from './module.ts'

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

  /** Says it, and waits until the node has read it: until it has refused a line behind it. */
  async describes(line: Line): Promise<void> {
    this.say(line)
    this.say({ type: 'forget', device: 'no-such-device' })
    await this.next('refused')
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

export type LinkWorld = {
  path: string
  timers: TestTimers
  adapter: TestAdapter
  ending: AbortController
  call(name: string, args?: Line, given?: { caller?: string; signal?: AbortSignal }): Promise<Effect>
}

/** The module of a node on a socket of its own, with a thermostat that is described. */
export async function openLink(node: TestNode, settings: object = {}): Promise<LinkWorld> {
  const [ending, timers] = [new AbortController(), new TestTimers()]
  const path = join(mkdtempSync(join(tmpdir(), 'svc-link-')), 'devices.sock')
  const config = checkConfig({ modules: { svclink: { socket: path, ...settings } } }).modules ?? {}
  const log = pino({ level: 'silent' })
  const ground = { ...node.ctx, config, log, publication: new Publication(), timers, ending: ending.signal }
  const opened = svclink?.open(ground) ?? []
  const providers = new Map(opened.map(one => [one.capability, one]))
  while (!existsSync(path)) await nextTurn()
  const adapter = await TestAdapter.open(path)
  await adapter.describes(THERMOSTAT)
  return {
    ...{ path, timers, adapter, ending },
    call(name, args = {}, { caller, signal = new AbortController().signal } = {}) {
      const provider = providers.get(`device.${name}`)
      if (provider === undefined) throw new Error(`no device.${name}`)
      const asked = { capability: provider.capability, args, caller, signal }
      return runProvider(provider, asked, { now: timers.now, timers, log })
    },
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
