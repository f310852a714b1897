/**
 * What a stranger's request costs the main thread of a hub: each route with its most expensive input, as far as nobody
 * has a credential. Processor time of the thread, so other load on the machine changes little.
 */
import { orderRunningHub } from '../hub/operator/socket.ts'
import { cardOf } from '../hub/testing/cards.ts'
import { TestAgent } from '../hub/testing/hub.ts'
import {
  atMost,
  Connection,
  type HubProcess,
  median,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'
import { type Worst, worstBodies, worstReads, worstSend } from './lib/hub-worst.ts'

const MAIN_THREAD_MS_MAX = 5
const ROUNDS = 7
const AGENTS = 400
const LONG_LOG_EVENTS = 941
const PAGE = 100

/** An agent with as much of everything as one may have. */
async function heavy(hub: HubProcess): Promise<TestAgent> {
  const agent = new TestAgent(hub, { bornMs: hub.clock.now() - 2 * LONG_LOG_EVENTS })
  await orderRunningHub(hub.directory, { command: 'admit', aid: agent.aid })
  for (let i = 1; i < LONG_LOG_EVENTS; i++)
    agent.rotate({ ts: i === LONG_LOG_EVENTS - 1 ? hub.clock.now() : agent.log.ts + 1 })
  const reply = await agent.register({ readme: 'é'.repeat(32 * 1024), a2a_card: cardOf(agent) })
  if (reply.status !== 200) throw new Error(`not registered: ${JSON.stringify(reply.json)}`)
  return agent
}

async function costOf(hub: HubProcess, connection: Connection, { request }: Worst): Promise<number> {
  const costs: number[] = []
  for (let round = -2; round < ROUNDS; round++) {
    const bytes = request()
    const before = await hub.mainThreadMs()
    const idle = (await hub.mainThreadMs()) - before
    await connection.send(bytes)
    const cost = (await hub.mainThreadMs()) - before - 2 * idle
    if (round >= 0) costs.push(cost)
  }
  return median(costs)
}

export async function run(): Promise<Row[]> {
  const hub = await startHubProcess()
  try {
    const long = await heavy(hub)
    const others = await registerAgents(hub, AGENTS)
    for (const agent of others) {
      await agent.call('register', {
        aid: agent.aid,
        kel: agent.kel,
        name: 'an agent',
        a2a_card: cardOf(agent),
      })
      await agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } })
    }
    const aids = others.map(({ aid }) => aid).sort()
    const before = aids.filter(aid => aid < long.aid).at(-1) ?? aids[0] ?? ''
    const cursors = [before, ...aids.filter((_, i) => i % PAGE === 0)].map(aid =>
      Buffer.from(aid).toString('base64url'),
    )
    const worst = [...worstBodies(hub, long), worstSend(hub, long), ...worstReads(hub, long, cursors)]
    const found = new Map<string, { what: string; ms: number }>()
    const connection = await Connection.open(hub.url)
    for (const one of worst) {
      const ms = await costOf(hub, connection, one)
      if (process.env['SVC_BENCH_ALL'] === '1')
        process.stderr.write(`${ms.toFixed(2)} ${one.route}: ${one.what}\n`)
      if (ms >= (found.get(one.route)?.ms ?? Number.NEGATIVE_INFINITY))
        found.set(one.route, { what: one.what, ms })
    }
    connection.close()
    return [...found].map(([route, { what, ms }]) =>
      atMost(`${route}, ${what}`, ms, 'ms', MAIN_THREAD_MS_MAX),
    )
  } finally {
    await hub.stop()
  }
}
