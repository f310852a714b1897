/** What becomes of the store of a running hub, as lines of its log. */
import type { DataDirectoryOptions } from './data-dir.ts'
import type { Log } from './log.ts'

type WordOf =
  | 'onLocked'
  | 'onAway'
  | 'onDenied'
  | 'onRestored'
  | 'onClockOff'
  | 'onHistory'
  | 'onNewerSchema'
  | 'onMigrated'

export const wordOf = (log: Log): Pick<DataDirectoryOptions, WordOf> => ({
  onLocked: isLocked =>
    isLocked
      ? log.error('another program has locked the store; sends are refused until it lets go', {})
      : log.info('the store can be written again', {}),
  onAway: why =>
    why === undefined
      ? log.info('the database is back', {})
      : log.error('the database is away; requests are refused until it is back', { why }),
  onDenied: why =>
    why === undefined
      ? log.info('the database takes new connections of this process again', {})
      : log.error('the database takes no new connection of this process, which goes on with those it has', {
          why,
        }),
  onRestored: ({ lostSinceMs }) =>
    lostSinceMs === undefined
      ? log.info('another server has the database; nothing is lost, and numbers were raised', {})
      : log.warn('the database was put back, or may have lost its latest changes; numbers were raised', {
          lost_since: new Date(lostSinceMs).toISOString(),
          mend: 'repeat your orders since then, and take the supply chain back from a witness: svc-hub restore --from-witness <url>',
        }),
  onClockOff: aheadMs =>
    aheadMs === undefined
      ? log.info('the clock of this machine is right again', {})
      : log.warn('the clock of this machine is not that of the database, by which the hub goes', {
          ahead_ms: aheadMs,
          mend: 'set the clock of this machine, or of the database: timedatectl set-ntp true',
        }),
  onHistory: mend =>
    mend === undefined
      ? log.info('the key history here is that of the hub again', {})
      : log.error('the key history here is not that of the hub; this process is not ready', { mend }),
  onNewerSchema: schema =>
    log.warn('a newer release brought the database to its schema; this process goes on meanwhile', {
      schema,
      mend: 'start this process again with the newer release',
    }),
  onMigrated: ({ from, to, copy }) =>
    log.info('the store was migrated', { from_schema: from, to_schema: to, copy }),
})
