/** What `svc-hub witness` does, and `restore --from-witness`. */
import { present } from '../../protocol/encoding/present.ts'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import type { Config } from '../config.ts'
import { isHubUrl } from '../core/hub-url.ts'
import { partsOf, refuseUnusable } from '../data-dir.ts'
import { whenFree } from '../directory-lock.ts'
import type { Order } from '../operator/order-shapes.ts'
import { WITNESS_URL_EXPECTED } from '../operator/witness-orders.ts'
import { print } from '../terminal.ts'
import { aidOf, noHub, openOffline, order, UsageError } from './commands.ts'
import { ended, takeEndings } from './signals.ts'

/** Orders about witnesses of this hub, and watching another one. */
export async function witness(
  [what, who, url]: (string | undefined)[],
  isOnce: boolean,
  config: Config,
): Promise<number> {
  if (what !== 'run') {
    if (isOnce) throw new UsageError('--once goes with run')
    return await order(witnessOrder(what, who, url), config)
  }
  if (who === undefined || !isHubUrl(who)) throw new UsageError('expected the URL of the hub to watch')
  if (url !== undefined) throw new UsageError(`unexpected argument: ${url}`)
  takeEndings()
  const { runWitness } = await import('../witness/run.ts')
  const { dataDir: directory, database } = config
  return await runWitness({ url: who, directory, database, isOnce, ended })
}

/** Takes the supply chain of a stopped hub back from a witness. */
export async function returnChain(url: string, config: Config): Promise<number> {
  if (!isHubUrl(url)) throw new UsageError(WITNESS_URL_EXPECTED)
  const { dataDir, database } = config
  if (database !== undefined) {
    const { afterPuttingBack } = await import('../putting-back.ts')
    const place = { database, directory: dataDir, now: systemNow, timers: systemTimers }
    return await afterPuttingBack(place, () => takeFrom(url, config))
  }
  const parts = partsOf(dataDir)
  refuseUnusable(parts)
  if (parts.state === 'none') throw noHub(dataDir)
  return await takeFrom(url, config)
}

async function takeFrom(url: string, config: Config): Promise<number> {
  const { OtherHub } = await import('../witness/other-hub.ts')
  const { takeBack } = await import('../witness/take-back.ts')
  const data = await whenFree(() => openOffline(config))
  try {
    const { store, identity } = data
    return await print(await takeBack(new OtherHub(url, systemTimers), { store, identity, now: systemNow }))
  } finally {
    await data.close()
  }
}

function witnessOrder(what: string | undefined, aid: string | undefined, url?: string): Order {
  const extra = what === 'add' ? undefined : url
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`)
  if (what === 'rm') return { command: 'witness', remove: aidOf(aid) }
  if (what === 'add') {
    if (url !== undefined && !isHubUrl(url)) throw new UsageError(WITNESS_URL_EXPECTED)
    return { command: 'witness', add: aidOf(aid), ...present({ url }) }
  }
  if (what !== undefined && what !== 'ls') throw new UsageError(`expected ls, add, rm or run, got ${what}`)
  if (aid !== undefined) throw new UsageError(`unexpected argument: ${aid}`)
  return { command: 'witness' }
}
