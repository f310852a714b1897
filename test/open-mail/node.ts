/** The parts of a node that carry open mail, at a real hub of wire 1. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { Carrier } from '../../daemon/carrier/carrier.ts'
import type { Ground } from '../../daemon/context.ts'
import { openGround } from '../../daemon/ground.ts'
import { BoardOrders } from '../../daemon/hubs/board-orders.ts'
import { Connections } from '../../daemon/hubs/http.ts'
import { type HubClient, type HubInputs, presented } from '../../daemon/hubs/hub.ts'
import { meetHub, openHub } from '../../daemon/hubs/open.ts'
import { Publication } from '../../daemon/hubs/publication.ts'
import { openCarriers } from '../../daemon/open/open.ts'
import { counted } from '../../daemon/store/counters.ts'
import { random, type TestHub } from '../../hub/testing/hub.ts'
import { systemTimers } from '../../protocol/timers.ts'

export const never: AbortSignal = new AbortController().signal
const WIRE = 1

export type OpenNode = {
  aid: string
  ground: Ground
  inputs: HubInputs
  hub: HubClient
  carrier: Carrier
  counted(name: string): number
  /** From here on the hub gives no key histories, or gives them again. */
  failLogs(isFailing: boolean): void
  /** Lines of its log with these words. */
  logged(words: string): string[]
  close(): Promise<void>
}

type Given = {
  /** By how much the clock of its machine is off. */
  skewMs?: number
  /** Whether the operator let it in, and it registered. */
  admitted?: boolean
  /** Where another hub answers now. */
  answers?: TestHub
}

/** A node that is registered at the hub. */
export async function openNode(
  at: TestHub,
  { skewMs = 0, admitted = true, answers = at }: Given = {},
): Promise<OpenNode> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-open-node-'))
  const undo = new AsyncDisposableStack()
  const now = () => at.clock.now() + skewMs
  const env = { SVC_HOME: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
  const logged: string[] = []
  const log = pino({}, { write: line => void logged.push(line) })
  const ground = await openGround({ dir, env, now, timers: systemTimers, random, log }, undo)
  const { identity } = ground
  const connections = new Connections()
  const inputs: HubInputs = {
    ...{ identity, connections, now, timers: systemTimers, random },
    ...{ spoolFolder: dir, publication: new Publication(), orders: new BoardOrders(ground.store, now) },
  }
  const met = await meetHub(at.url, inputs, WIRE)
  const hub = openHub({ ...presented(met), url: answers.url }, inputs)
  ground.hub.settleAt(hub)
  if (admitted) {
    await at.running.order({ command: 'admit', aid: identity.aid })
    if (answers === at) await hub.checkAdmission(identity.log)
  }
  const fetchLog = hub.fetchLog.bind(hub)
  let isFailing = false
  hub.fetchLog = async aid => {
    if (isFailing) throw new Error('no answer')
    return await fetchLog(aid)
  }
  return {
    aid: identity.aid,
    ...{ ground, hub, inputs, carrier: openCarriers(ground).over(hub) },
    counted: name => counted(ground.store, name),
    logged: words => logged.filter(line => line.includes(words)),
    failLogs(to) {
      isFailing = to
    },
    async close() {
      await connections.close()
      await undo.disposeAsync()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
