/** A hub, nodes and the network between them, in one process, for tests of the whole line. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import * as net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { type Node, type NodeOptions, startNode } from '../../daemon/node.ts'
import { within } from '../../daemon/platform/within.ts'
import { startTestHub, type TestHub, type TestHubOptions } from '../../hub/testing/hub.ts'
import { CONTROL_ADDRESS_DEFAULT } from '../../protocol/control/address.ts'
import { fromBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { decodeKel, type VerifiedKel, verifyKel } from '../../protocol/identity/kel.ts'
import { decodePayload, type Kind, kinds } from '../../protocol/mail/payload.ts'
import { systemTimers } from '../../protocol/timers.ts'

/** A poll held for so long was ended by no other node of the same identity. */
export const POLL_SETTLED_MS = 1000

export const never: AbortSignal = new AbortController().signal
const LOOKS_MAX = 600
const LOOK_MS = 20
/** Far more than a step takes on a busy machine, and less than a hook may. */
const STEP_MAX_MS = 120_000

/** The wire between nodes and hub; it can be cut, and it can hold whatever is said until it is let through. */
export class Line {
  #server: net.Server
  #sockets = new Set<net.Socket>()
  #port = 0
  #isHeld = false

  constructor(to: () => number) {
    this.#server = net.createServer(socket => {
      const out = net.connect(to(), '127.0.0.1')
      for (const end of [socket, out]) {
        this.#sockets.add(end)
        if (this.#isHeld) queueMicrotask(() => end.pause())
        end.on('error', () => end.destroy())
        end.on('close', () => {
          this.#sockets.delete(end)
          socket.destroy()
          out.destroy()
        })
      }
      socket.pipe(out)
      out.pipe(socket)
    })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async up(): Promise<void> {
    await new Promise<void>(done => this.#server.listen(this.#port, '127.0.0.1', done))
    this.#port = (this.#server.address() as net.AddressInfo).port
  }

  /** The hub is there and says nothing, as a process that is stopped. */
  hold(): void {
    this.#isHeld = true
    for (const socket of this.#sockets) socket.pause()
  }

  release(): void {
    this.#isHeld = false
    for (const socket of this.#sockets) socket.resume()
  }

  async down(): Promise<void> {
    const closed = new Promise<void>(done => this.#server.close(() => done()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}

export type Lab = {
  folder: string
  hub: TestHub
  line: Line
  /** Every node that was started, also those that stopped. */
  nodes: readonly Node[]
  start(name: string, env?: Record<string, string>, skewMs?: number): Promise<Node>
  /** A node that the operator admitted and that has registered. */
  member(name: string, env?: Record<string, string>): Promise<Node>
  close(): Promise<void>
}

export async function openLab(
  given: Pick<NodeOptions, 'consolePage'> = {},
  ofHub: TestHubOptions = {},
): Promise<Lab> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lab-'))
  const hub = await inTime('the hub starts', startTestHub(ofHub))
  const line = new Line(() => Number(new URL(hub.url).port))
  await line.up()
  const nodes: Node[] = []
  const lab: Lab = {
    folder,
    hub,
    line,
    nodes,
    async start(name, env = {}, skewMs = 0) {
      const dir = join(folder, name)
      const config = readConfig(dir)
      const isGiven = config.control_addr !== CONTROL_ADDRESS_DEFAULT
      writeConfig(dir, { ...config, control_addr: isGiven ? config.control_addr : '127.0.0.1:0' })
      const starting = startNode({
        ...given,
        dir,
        name,
        now: () => hub.clock.now() + skewMs,
        timings: {
          topUpPauseMs: 30,
          topUpSpreadMs: 20,
          pollSettledMs: POLL_SETTLED_MS,
          backoffFirstMs: 100,
          settleMs: 100,
        },
        env: { ...env, PATH: process.env['PATH'], SVC_RUNTIME_DIR: join(folder, `run-${name}`) },
      })
      const node = await inTime(`${name} starts`, starting)
      nodes.push(node)
      return node
    },
    async member(name, env) {
      const node = await lab.start(name, env)
      await inTime(`${name} is admitted`, hub.running.hub.context.store.admit(node.aid, true))
      const wire = ofHub.wires?.[0]
      const given = { url: line.url, name, ...present({ wire }) }
      await inTime(`${name} registers`, node.handlers.hubRegister(given, never))
      return node
    },
    async close() {
      await Promise.all(nodes.map(node => node.stop()))
      await line.down()
      await hub.close()
    },
  }
  return lab
}

/** A lab with two members; bob knows alice as a contact. */
export async function openPair(ofHub: TestHubOptions = {}): Promise<{ lab: Lab; alice: Node; bob: Node }> {
  const lab = await openLab({}, ofHub)
  const alice = await lab.member('alice')
  const bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  return { lab, alice, bob }
}

/** Fails with what did not end, where a hook would only say that it took too long. */
async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const ended: { value: T }[] = []
  await within(
    systemTimers,
    STEP_MAX_MS,
    work.then(value => ended.push({ value })),
  )
  const [outcome] = ended
  if (outcome === undefined) throw new Error(`did not end: ${what}`)
  return outcome.value
}

/** Looks until something holds; fails with what it was. */
export async function until(what: string, holds: () => Promise<unknown> | unknown): Promise<void> {
  for (let i = 0; i < LOOKS_MAX; i++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
  throw new Error(`did not happen: ${what}`)
}

export const thread = (node: Node, interaction_id: string) => node.handlers.thread({ interaction_id }, never)
export const stateOf = async (node: Node, id: string) => (await thread(node, id)).state
export const texts = async (node: Node, id: string) =>
  (await thread(node, id)).turns.map(turn => turn.text).filter(Boolean)
export const inboxIds = async (node: Node) =>
  (await node.handlers.inbox({}, never)).items.map(item => item.interaction_id)

/** Delegates and waits until the provider holds the task. */
export async function delegated(from: Node, to: Node, task: string): Promise<string> {
  const { interaction_id } = await from.handlers.delegate({ to: to.aid, task }, never)
  await until(`"${task}" arrives`, async () => (await inboxIds(to)).includes(interaction_id))
  return interaction_id
}

/** From an open task to the receipt that both signed. */
export async function finished(requester: Node, provider: Node, id: string): Promise<void> {
  await requester.handlers.end({ interaction_id: id }, never)
  await until('the proposal arrives', async () => (await stateOf(provider, id)) === 'end_proposed')
  await provider.handlers.end({ interaction_id: id, mode: 'accept' }, never)
  await until('both signed', async () => {
    const sides = await Promise.all([thread(requester, id), thread(provider, id)])
    if (sides.some(side => side.receipt?.verified !== true)) return false
    return (await provider.handlers.verify({ interaction_id: id }, never)).counter_signed
  })
}

const SCRIPT = `
import { startNode } from ${JSON.stringify(join(import.meta.dirname, '..', '..', 'daemon', 'node.ts'))}
const [dir, runtime, skew, operations] = process.argv.slice(1)
const node = await startNode({ dir, env: { SVC_RUNTIME_DIR: runtime }, now: () => Date.now() + Number(skew) })
for (const [operation, given] of JSON.parse(operations))
  await node.handlers[operation](given, new AbortController().signal)
await node.stop()
`

/** Runs operations of a stopped node in a process of its own that dies at a fault point; resolves with its signal. */
export async function killedAt(
  lab: Lab,
  name: string,
  fault: string,
  operation: string,
  given: object,
  { conditions = [], after = [] }: { conditions?: readonly string[]; after?: [string, object][] } = {},
): Promise<NodeJS.Signals | null> {
  const skew = String(lab.hub.clock.now() - Date.now())
  const args = [
    join(lab.folder, name),
    join(lab.folder, `run-${name}`),
    skew,
    JSON.stringify([[operation, given], ...after]),
  ]
  const chosen = conditions.map(name => `--conditions=${name}`)
  const child = spawn(process.execPath, [...chosen, '--input-type=module', '-e', SCRIPT, ...args], {
    env: { PATH: process.env['PATH'], SVC_FAULT: fault },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return new Promise(done => child.once('exit', (_code, signal) => done(signal)))
}

/** The log that a hub serves of an agent, as far as it knows one. */
export async function servedLog(url: string, aid: string): Promise<VerifiedKel | undefined> {
  const answer = await fetch(`${url}/agents/${aid}/kel`, { headers: { 'X-Svc-Wire': '3' } })
  if (!answer.ok) return undefined
  return verifyKel(decodeKel(fromBase64url(((await answer.json()) as { kel: string }).kel)))
}

/** Messages of a kind that wait in the outbox. */
export function waiting(node: Node, kind: Kind) {
  return node.ctx.store
    .all<{ payload: Uint8Array; recipient: string }>(
      'SELECT m.payload, m.recipient FROM outbox AS o JOIN messages AS m ON m.key = o.message WHERE m.kind = ?',
      kind,
    )
    .map(({ payload, recipient }) => ({ recipient, decoded: decodePayload(kind, payload) }))
}

/** Key states that the newest receipts of a node name, whether they wait or have left already. */
export const receiptSeqs = (node: Node): number[] =>
  node.ctx.store
    .all<{ payload: Uint8Array }>(
      `SELECT payload, max(key) FROM messages WHERE direction = 'out' AND kind = ? GROUP BY interaction`,
      kinds.receipt,
    )
    .flatMap(({ payload }) => {
      const decoded = decodePayload(kinds.receipt, payload)
      return decoded.kind === kinds.receipt ? [decoded.payload.receipt.body.providerKelSeq] : []
    })
