/** The store in a PostgreSQL database: changes in groups, questions on whichever connection is free. */
import type { Timers } from '../../../protocol/timers.ts'
import type { GroupCommitted } from '../port.ts'
import { accountsOver } from './accounts.ts'
import { agentsOver } from './agents.ts'
import { boardOver } from './board.ts'
import type { Connections } from './connections.ts'
import { GroupWriter } from './groups.ts'
import { invitesOver } from './invites.ts'
import { migrate } from './migrate.ts'
import { writes } from './writes.ts'

export type PostgresOptions = {
  connections: Connections
  release: string
  timers: Timers
  onGroup?: ((group: GroupCommitted) => void) | undefined
}

/** Migrates the database where needed; `close` ends its connections. */
export async function openPostgres({ connections, release, timers, onGroup }: PostgresOptions) {
  await migrate(connections, release)
  const writer = new GroupWriter(connections, writes, () => timers.monotonic(), onGroup)
  return {
    local: undefined,
    ...agentsOver(connections, writer),
    ...accountsOver(connections, writer),
    ...invitesOver(connections, writer),
    ...boardOver(connections, writer),
    async close() {
      await writer.idle()
      await connections.close()
    },
  }
}
