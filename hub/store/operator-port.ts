/** What an operator sees of a database that several processes share. */

/** What a standby has not replayed yet; undefined where the role of the hub may not see it. */
export type Standby = { name: string; isSynchronous: boolean; lagBytes?: number; lagMs?: number }

/** How many processes serve the hub, how far this machine's clock is ahead, and what copies the rows. */
export type DatabaseFigures = { processes: number; clockAheadMs: number; standbys: readonly Standby[] }
