/** Draining a full mailbox by polls of 256 envelopes. */

import { runAlone } from './lib/help.ts'
import {
  atLeast,
  Connection,
  load,
  median,
  prepareSends,
  type Row,
  rawRequest,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const ENVELOPES = 10_000
const ROUNDS = 3
const PATH = '/relay/poll'

export async function run(): Promise<Row[]> {
  const hub = await startHubProcess()
  try {
    const [agent] = await registerAgents(hub, 1)
    if (agent === undefined) throw new Error('no agent')
    for (const contentBytes of [1024])
      await load(hub.url, prepareSends(hub, [agent], ENVELOPES, contentBytes), 64)
    const connection = await Connection.open(hub.url)
    const rates: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now()
      let afterId = 0
      let count = 0
      while (count < ENVELOPES) {
        const body = Buffer.from(JSON.stringify({ limit: 256, after_id: afterId }))
        const signed = agent.sign('poll', 'POST', PATH, body)
        const reply = await connection.send(rawRequest(hub, 'POST', PATH, signed, body))
        const ids = [...reply.body.toString('latin1').matchAll(/"id":(\d+)/g)].map(match => Number(match[1]))
        if (ids.length === 0) throw new Error(`the mailbox ends after ${count} envelopes`)
        count += ids.length
        afterId = ids.at(-1) as number
      }
      rates.push(ENVELOPES / ((performance.now() - start) / 1000))
    }
    connection.close()
    return [atLeast('poll draining a full mailbox, 1 KiB contents', median(rates), 'envelopes/s', 10_000)]
  } finally {
    await hub.stop()
  }
}

if (import.meta.main) await runAlone(import.meta.filename, run)
