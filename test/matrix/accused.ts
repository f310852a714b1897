/** Whom the audit of a restored node accuses: the hub of these worlds is honest, and no thief has a key. */

import { accountFault } from '../../daemon/payments/account.ts'
import { paymentParts } from '../../daemon/payments/parts.ts'
import type { Side } from './side.ts'
import type { MatrixWorld } from './world.ts'

const ASKED_MS = 1000

/** What a side that was restored says of the hub or of a thief. */
export async function accused(world: MatrixWorld): Promise<string[]> {
  const restored = world.sides.filter(side => !side.isAway && world.lossOf(side) !== undefined)
  return (await Promise.all(restored.map(faultOf))).flat()
}

async function faultOf({ ctx, hub, name }: Side): Promise<string[]> {
  const fault = accountFault(await paymentParts(ctx).comparison.compare(hub, AbortSignal.timeout(ASKED_MS)))
  return fault === undefined ? [] : [`${name}, which was restored, says of an honest hub: ${fault}`]
}
