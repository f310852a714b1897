/** Clients at work on a hub, each a program of its own that comes from an address of its own. */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { LoadTold } from './load.ts'
import { CHECKOUT, type Machine } from './machines.ts'
import { AUTHORITY, CLIENTS, NODE } from './world.ts'

const LOAD = `${CHECKOUT}/test/many-processes/load.ts`

type Client = { child: ChildProcess; next: () => Promise<string> }

function follow(child: ChildProcess): Client {
  let said = ''
  child.stderr?.on('data', part => {
    said += String(part)
  })
  if (child.stdout === null) throw new Error('a client says nothing')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`a client ended: ${said}`)
    return String(value)
  }
  return { child, next }
}

export class Clients {
  readonly #all: readonly Client[]
  /** Their AIDs. */
  readonly agents: string[] = []

  private constructor(all: readonly Client[]) {
    this.#all = all
  }

  /** Resolves once all of them have a mailbox and work. */
  static async start(hub: Machine): Promise<Clients> {
    const { aid } = JSON.parse(await hub.must('curl -fsS http://127.0.0.1:8088/hub/identity')) as {
      aid: string
    }
    const clients = new Clients(
      CLIENTS.map(address =>
        follow(
          hub.spawn(NODE, [LOAD, 'https://hub.example', aid, address], [`NODE_EXTRA_CA_CERTS=${AUTHORITY}`]),
        ),
      ),
    )
    for (const client of clients.#all) {
      const agent = await client.next()
      clients.agents.push(agent)
      await hub.must(`runuser -u svc-hub -- svc-hub admit ${agent} --data-dir /var/lib/svc-hub-8088`)
      client.child.stdin?.write('go\n')
      await client.next()
    }
    return clients
  }

  /** Lets them come to their end; what all of them tell. */
  async end(): Promise<LoadTold> {
    const sum: LoadTold = { sent: 0, again: {}, longestMs: 0, faults: [] }
    for (const { child } of this.#all) child.stdin?.write('end\n')
    for (const { next } of this.#all) {
      const told = JSON.parse(await next()) as LoadTold
      sum.sent += told.sent
      sum.longestMs = Math.max(sum.longestMs, told.longestMs)
      sum.faults.push(...told.faults)
      for (const [said, times] of Object.entries(told.again)) sum.again[said] = (sum.again[said] ?? 0) + times
    }
    return sum
  }
}
