/** What an operator sees of a database that several processes share. */

/** What a standby has not replayed yet; undefined where the role of the hub may not see it. */
export type Standby = { name: string; isSynchronous: boolean; lagBytes?: number; lagMs?: number }

/** How many processes serve the hub, and what copies its rows. */
export type DatabaseFigures = { processes: number; standbys: readonly Standby[] }
