/** Load on a hub: the process under test, agents registered there, and connections that cost the client little. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { orderRunningHub } from '../../hub/operator/socket.ts'
import { type Target, TestAgent } from '../../hub/testing/hub.ts'
import { sealedUnderCapability, sendHeaders } from '../../hub/testing/mail.ts'
import { endedWith } from './ended-with.ts'
import { type Load, loadFromC } from './load-client.ts'

const MIB = 1024 * 1024
const PAST_START_FLOOR_MS = 2500
const USES_PER_CAPABILITY = 16

/** One line of a measurement: what was measured, and what it must reach. */
export type Row = { name: string; value: number; unit: string; target: number; ok: boolean }

export function atLeast(name: string, value: number, unit: string, target: number): Row {
  return { name, value: rounded(value), unit, target, ok: value >= target }
}

export function atMost(name: string, value: number, unit: string, target: number): Row {
  return { name, value: rounded(value), unit, target, ok: value <= target }
}

const rounded = (value: number): number => Number(value.toPrecision(4))

export type HubProcess = Target & {
  pid: number
  /** Where it serves wire 1, if it does. */
  wire1Url: string | undefined
  directory: string
  rssMib(): number
  peakMib(): number
  /** Processor time of the main thread since its start; of a hub from the sources only. */
  mainThreadMs(): Promise<number>
  stop(): Promise<void>
}

export type HubProcessOptions = {
  groupMax?: number
  built?: boolean
  /** Another built program than the one of this tree. */
  program?: string
  /** More flags for `serve`; of a built program only. */
  flags?: readonly string[]
  directory?: string
  /** Its directory stays when it is stopped. */
  keeps?: boolean
  /** Check signatures with node:crypto, also where the optional engine is installed. */
  standard?: boolean
  /** File for what the hub logs. */
  log?: string
  /** What stands between the hub and its disk. */
  env?: Record<string, string>
}

/** Starts a hub in a process of its own: from the sources, or the built program with its default limits. */
export async function startHubProcess(options: HubProcessOptions = {}): Promise<HubProcess> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'svc-hub-bench-'))
  const args = options.built === true ? builtProgram(directory, options) : sourceProgram(directory, options)
  const env = { ...process.env, ...options.env }
  const log = options.log === undefined ? ('inherit' as const) : openSync(options.log, 'a')
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', log, 'ipc'], env })
  const clear = () => {
    if (options.keeps !== true) rmSync(directory, { recursive: true, force: true })
  }
  const hasEnded = endedWith(async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
    clear()
  })
  child.once('exit', hasEnded)
  const { url, wire1Url, aid } = await announced(child)
  // Signing times must lie above the floor of the start.
  const clock = { now: () => Date.now() + PAST_START_FLOOR_MS, advance: () => undefined }
  return {
    url,
    wire1Url,
    aid,
    clock,
    directory,
    pid: child.pid ?? 0,
    rssMib: () => memory(child, 'VmRSS'),
    peakMib: () => memory(child, 'VmHWM'),
    async mainThreadMs() {
      const answer = once(child, 'message')
      child.send('time')
      const [{ user, system }] = (await answer) as [{ user: number; system: number }]
      return (user + system) / 1000
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      clear()
    },
  }
}

function sourceProgram(directory: string, { groupMax = 0, standard = false }: HubProcessOptions): string[] {
  const program = new URL('./hub-process.ts', import.meta.url).pathname
  return [program, directory, String(groupMax), ...(standard ? ['standard'] : [])]
}

const BUILT = new URL('../../hub/dist/svc-hub.js', import.meta.url).pathname

function builtProgram(directory: string, { program = BUILT, flags = [] }: HubProcessOptions): string[] {
  if (!existsSync(program)) throw new Error('the hub is not built; run: npm run build')
  return [program, 'serve', '--listen', '127.0.0.1:0', '--data-dir', directory, ...flags]
}

async function announced(child: ChildProcess): Promise<Pick<HubProcess, 'url' | 'wire1Url' | 'aid'>> {
  if (child.stdout === null) throw new Error('the hub has no output')
  let url: string | undefined
  let wire1Url: string | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    url ??= /http:[^\s"]+/.exec(line)?.[0]
    wire1Url ??= /^wire 1 .*?(http:\S+)/.exec(line)?.[1]
    const aid = /(?:hub AID |"aid":")(A[\w-]{43})/.exec(line)?.[1]
    if (url !== undefined && aid !== undefined) return { url, wire1Url, aid }
  }
  throw new Error('the hub did not start')
}

function memory(child: ChildProcess, field: string): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024) / MIB
}

/** Agents that the operator admitted and that have registered. */
export async function registerAgents(hub: HubProcess, count: number): Promise<TestAgent[]> {
  const agents: TestAgent[] = []
  for (let i = 0; i < count; i++) {
    const agent = new TestAgent(hub)
    await orderRunningHub(hub.directory, { command: 'admit', aid: agent.aid })
    const reply = await agent.register()
    if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
    agents.push(agent)
  }
  return agents
}

/** Whole requests that send distinct envelopes under capabilities, spread over the recipients. */
export function prepareSends(
  hub: HubProcess,
  recipients: TestAgent[],
  count: number,
  contentBytes = 4096,
): Uint8Array[] {
  const stock = recipients.map(agent => agent.capability())
  return Array.from({ length: count }, (_, i) => {
    const at = i % recipients.length
    const recipient = recipients[at] as TestAgent
    if (Math.floor(i / recipients.length) % USES_PER_CAPABILITY === 0) stock[at] = recipient.capability()
    const envelope = sealedUnderCapability(recipient, stock[at] as (typeof stock)[0], { contentBytes })
    return rawRequest(hub, 'POST', '/relay/send', sendHeaders(envelope), envelope.bytes)
  })
}

/** A request as the bytes that go over the wire. */
export function rawRequest(
  hub: { url: string },
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Uint8Array {
  const all = {
    Host: new URL(hub.url).host,
    'X-Svc-Wire': '3',
    ...headers,
    'Content-Length': String(body.length),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

/** One kept connection that sends one request after the other. */
export class Connection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #resolve: ((reply: { status: number; body: Buffer }) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', error => {
      throw error
    })
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new Connection(socket)
  }

  send(request: Uint8Array): Promise<{ status: number; body: Buffer }> {
    return new Promise(resolve => {
      this.#resolve = resolve
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.subarray(0, headEnd).toString('latin1')
    const length = /content-length: (\d+)/i.exec(head)?.[1]
    const bodyStart = headEnd + 4
    if (length === undefined) {
      this.#takeChunked(head, bodyStart)
      return
    }
    const end = bodyStart + Number(length)
    if (this.#received.length >= end) this.#answer(head, this.#received.subarray(bodyStart, end))
  }

  /** Enough of chunked coding for a load client: the answer is there when its last chunk is. */
  #takeChunked(head: string, bodyStart: number): void {
    if (this.#received.subarray(-5).toString('latin1') === '0\r\n\r\n')
      this.#answer(head, this.#received.subarray(bodyStart))
  }

  #answer(head: string, body: Buffer): void {
    this.#received = Buffer.alloc(0)
    this.#resolve?.({ status: Number(head.slice(9, 12)), body })
  }
}

export type { Load }

/** Sends all requests over so many connections at once. */
export async function load(url: string, requests: Uint8Array[], clients: number): Promise<Load> {
  return (await loadFromC(url, requests, clients)) ?? (await loadFromHere(url, requests, clients))
}

async function loadFromHere(url: string, requests: Uint8Array[], clients: number): Promise<Load> {
  const connections = await Promise.all(Array.from({ length: clients }, () => Connection.open(url)))
  const times: number[] = []
  let next = 0
  let failed = 0
  const start = performance.now()
  await Promise.all(
    connections.map(async connection => {
      for (;;) {
        const request = requests[next++]
        if (request === undefined) return
        const sent = performance.now()
        const { status } = await connection.send(request)
        times.push(performance.now() - sent)
        if (status !== 200) failed += 1
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  for (const connection of connections) connection.close()
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
  return { perSecond: requests.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99), failed }
}

export function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
