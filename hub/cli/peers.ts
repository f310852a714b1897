/** What `svc-hub peers` does: listing another hub, once its operator has confirmed who it is. */
import { createInterface } from 'node:readline/promises'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { amountOfText } from '../../protocol/proof/payment.ts'
import { systemTimers } from '../../protocol/timers.ts'
import type { Config } from '../config.ts'
import { isHubUrl } from '../core/hub-url.ts'
import type { Order } from '../operator/order-shapes.ts'
import { PEER_URL_EXPECTED } from '../operator/peer-orders.ts'
import { StoreRefused } from '../store/port.ts'
import { aidOf, order, UsageError } from './commands.ts'

const LIMIT_EXPECTED =
  'expected how many credits the peer may owe: a whole number, 0 for none, at most 9007199254740991'

export async function peers(
  [what, who, credits]: (string | undefined)[],
  confirmed: string | boolean | undefined,
  config: Config,
): Promise<number> {
  if (confirmed !== undefined && what !== 'add') throw new UsageError('--yes goes with add')
  if (credits !== undefined && what !== 'limit') throw new UsageError(`unexpected argument: ${credits}`)
  switch (what) {
    case 'add':
      return await order(await listing(who, confirmed), config)
    case 'limit':
      return await order(
        { command: 'peers', limit: { aid: aidOf(who), credits: creditsOf(credits) } },
        config,
      )
    case 'rm':
      return await order({ command: 'peers', remove: aidOf(who) }, config)
    case undefined:
    case 'ls':
      if (who !== undefined) throw new UsageError(`unexpected argument: ${who}`)
      return await order({ command: 'peers' }, config)
    default:
      throw new UsageError(`expected ls, add, limit or rm, got ${what}`)
  }
}

/** What a peer may owe: 0 for nothing. */
function creditsOf(given: string | undefined): number {
  if (given === '0') return 0
  if (given === undefined || amountOfText(given) === undefined) throw new UsageError(LIMIT_EXPECTED)
  return Number(given)
}

/** Asks the other hub who it is. Its AID is the fingerprint of its first key: both operators compare it. */
async function listing(url: string | undefined, confirmed: string | boolean | undefined): Promise<Order> {
  if (url === undefined || !isHubUrl(url)) throw new UsageError(PEER_URL_EXPECTED)
  const { OtherHub } = await import('../witness/other-hub.ts')
  const log = await new OtherHub(url, systemTimers).log()
  await confirm(log.aid, url, confirmed)
  return { command: 'peers', add: { url, kel: toBase64url(encodeKel(log.events)) } }
}

async function confirm(aid: string, url: string, given: string | boolean | undefined): Promise<void> {
  if (given === aid) return
  if (given !== undefined)
    throw new StoreRefused(`the hub at ${url} is ${aid}, not ${given}; ask its operator which one is right`)
  if (!process.stdin.isTTY)
    throw new StoreRefused(
      `the hub at ${url} says that it is ${aid}; compare that with its operator, then run: svc-hub peers add ${url} --yes ${aid}`,
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question(
      `The hub at ${url} is ${aid}\nDoes its operator say the same? Type y to list it: `,
    )
    if (answer.trim().toLowerCase() !== 'y') throw new StoreRefused('nothing was listed')
  } finally {
    terminal.close()
  }
}
