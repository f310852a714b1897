/** A hub, nodes and the network between them, in one process, for tests of the whole line. */
import { mkdtempSync } from 'node:fs'
import * as net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, writeConfig } from '../daemon/home/config.ts'
import { type Node, startNode } from '../daemon/node.ts'
import { startTestHub, type TestHub } from '../hub/testing/hub.ts'

export const never: AbortSignal = new AbortController().signal
const LOOKS_MAX = 600
const LOOK_MS = 20

/** The wire between nodes and hub; it can be cut. */
export class Line {
  #server: net.Server
  #sockets = new Set<net.Socket>()
  #port = 0

  constructor(to: () => number) {
    this.#server = net.createServer(socket => {
      const out = net.connect(to(), '127.0.0.1')
      for (const end of [socket, out]) {
        this.#sockets.add(end)
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
  start(name: string, env?: Record<string, string>, skewMs?: number): Promise<Node>
  /** A node that the operator admitted and that has registered. */
  member(name: string, env?: Record<string, string>): Promise<Node>
  close(): Promise<void>
}

export async function openLab(): Promise<Lab> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lab-'))
  const hub = await startTestHub()
  const line = new Line(() => Number(new URL(hub.url).port))
  await line.up()
  const nodes: Node[] = []
  const lab: Lab = {
    folder,
    hub,
    line,
    async start(name, env = {}, skewMs = 0) {
      const dir = join(folder, name)
      writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
      const node = await startNode({
        dir,
        name,
        now: () => hub.clock.now() + skewMs,
        timings: { topUpPauseMs: 30, topUpSpreadMs: 20, pollSettledMs: 200, backoffFirstMs: 100 },
        env: { ...env, PATH: process.env['PATH'], SVC_RUNTIME_DIR: join(folder, `run-${name}`) },
      })
      nodes.push(node)
      return node
    },
    async member(name, env) {
      const node = await lab.start(name, env)
      await hub.running.hub.context.store.admit(node.aid, true)
      await node.handlers.hubRegister({ url: line.url, name }, never)
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
export async function openPair(): Promise<{ lab: Lab; alice: Node; bob: Node }> {
  const lab = await openLab()
  const alice = await lab.member('alice')
  const bob = await lab.member('bob')
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  return { lab, alice, bob }
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
