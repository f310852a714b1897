/** The store in a PostgreSQL database: changes in groups, questions on whichever connection is free. */

import { fromHex, toHex } from '../../../protocol/encoding/bytes.ts'
import type { Timers } from '../../../protocol/timers.ts'
import type { GroupCommitted, StoreBroken, StoreHealth } from '../port.ts'
import { RID_KEY_BYTES, RID_KEY_SETTING, Rids } from '../rids.ts'
import { accountsOver, madeOnce } from './accounts.ts'
import { agentsOver } from './agents.ts'
import { boardOver } from './board.ts'
import { clearingOver } from './clearing.ts'
import { ConfirmedChanges } from './confirmed.ts'
import { refuseUnfit } from './fitness.ts'
import { GroupWriter } from './groups.ts'
import { invitesOver } from './invites.ts'
import { ledgerOver } from './ledger.ts'
import { mailOver } from './mail.ts'
import { migrate } from './migrate.ts'
import { moderationOver } from './moderation.ts'
import { openCardsOver } from './open-cards.ts'
import { openMailOver } from './open-mail.ts'
import { openPeersOver } from './open-peers.ts'
import { openReviewsOver } from './open-reviews.ts'
import { peerCardsOver } from './peer-cards.ts'
import { peerPaymentsOver } from './peer-payments.ts'
import { Reserve } from './reserve.ts'
import { reviewsOver } from './reviews.ts'
import { vouchersOver } from './vouchers.ts'
import type { WatchedConnections } from './watched.ts'
import { witnessesOver } from './witnesses.ts'
import { writesWith } from './writes.ts'

export type PostgresOptions = {
  connections: WatchedConnections
  release: string
  timers: Timers
  random: (count: number) => Uint8Array
  onBroken: (error: StoreBroken) => void
  /** A database of an older schema is refused, not migrated. */
  keepsOlder?: boolean | undefined
  onGroup?: ((group: GroupCommitted) => void) | undefined
}

/** Migrates the database where needed; `close` ends its connections. */
export async function openPostgres({
  connections,
  release,
  timers,
  random,
  onBroken,
  onGroup,
  keepsOlder,
}: PostgresOptions) {
  await refuseUnfit(connections)
  await migrate(connections, { release, keepsOlder })
  const key = await madeOnce(connections, RID_KEY_SETTING, toHex(random(RID_KEY_BYTES)))
  const rids = new Rids(fromHex(key, RID_KEY_SETTING))
  const confirmed = new ConfirmedChanges(connections, timers)
  const reserve = new Reserve(connections)
  const writer = new GroupWriter(confirmed, writesWith(rids), timers, {
    onGroup,
    onFault: error => connections.note(error),
    giveUpReserve: () => reserve.giveUp(),
  })
  return {
    local: undefined,
    ...mailOver(connections, writer, rids),
    ...agentsOver(connections, writer),
    ...accountsOver(connections, writer),
    ...invitesOver(connections, writer),
    ...boardOver(connections, writer),
    ...openMailOver(connections, writer),
    ...openCardsOver(connections, writer),
    ...openPeersOver(connections, writer),
    ...peerCardsOver(connections, writer),
    ...openReviewsOver(connections, writer),
    ...moderationOver(connections, writer),
    ...reviewsOver(connections, writer),
    ...ledgerOver(connections, writer),
    ...vouchersOver(connections),
    ...peerPaymentsOver(connections, writer),
    ...clearingOver(connections, writer),
    ...witnessesOver(connections, writer),
    /** The server keeps its own files in order. */
    check: async (): Promise<string[]> => [],
    async fail(error: StoreBroken) {
      if (writer.isBroken) return
      writer.fail(error)
      onBroken(error)
    },
    health: async (): Promise<StoreHealth> => ({ ...connections.health(), broken: writer.isBroken }),
    async close() {
      await writer.idle()
      await confirmed.close()
      await connections.close()
    },
  }
}
