/** What can be seen of a hub's database from outside: for the doctor, which changes nothing there. */
import { toHex } from '../protocol/encoding/bytes.ts'
import { sleep, type Timers } from '../protocol/timers.ts'
import { LINE_SETTING } from './cluster/continuity.ts'
import { readIdentity } from './core/identity.ts'
import { type ChainHeld, chainHeld } from './core/supply/held.ts'
import { claimOf, HUB_SETTING, readSecret } from './over-database.ts'
import type { DatabasePlace } from './places-config.ts'
import type { ClearingState } from './store/clearing-port.ts'
import { readClearing } from './store/postgres/clearing.ts'
import type { Connections, Queries } from './store/postgres/connections.ts'
import { settingsOf, unfitFor } from './store/postgres/fitness.ts'
import { type SchemaHeld, schemaIn } from './store/postgres/migrate.ts'
import { lineOf } from './store/postgres/restored.ts'
import {
  type DeadRows,
  deadRowsIn,
  isReadOnly,
  type LiveProcess,
  lackingRights,
  oldestTransactionIn,
  processesIn,
  type Standbys,
  serverTimeMs,
  standbysOf,
} from './store/postgres/state.ts'
import { readHead, readRecords } from './store/postgres/supply-rows.ts'
import { connectionsTo, linkTo } from './store/postgres/way.ts'
import { witnessReads } from './store/postgres/witnesses.ts'

export type DatabaseState = {
  release: string
  /** What a hub cannot do with, and what to do about it. */
  unfit: string | undefined
  /** A crash of its machine may leave half a page. */
  tearsPages: boolean
  /** It is a standby, or takes no changes for another reason. */
  isReadOnly: boolean
  schema: SchemaHeld
  /** Of what the database serves once it has a schema. */
  rows: RowsState | undefined
  standbys: Standbys
  oldestSeconds: number
  /** How far this machine's clock is ahead. */
  aheadMs: number
  /** Whether word comes over the connection that lasts. */
  isWordHeard: boolean
}

export type RowsState = {
  /** `none`: of no hub yet; `moved`: the rows went to a file; `unknown`: the files here do not tell. */
  owner: 'own' | 'none' | 'moved' | 'other' | 'unknown'
  /** The AID of the hub, empty where there is none. */
  hub: string
  lackingRights: number
  /** Each that serves. */
  processes: LiveProcess[]
  dead: DeadRows | undefined
  settings: ReadonlyMap<string, string>
  /** Why the supply chain does not go on; undefined where it does. */
  held: ChainHeld | undefined
  /** It stands in another line than when a process served last. */
  isPutBack: boolean
}

type Outside = { now: () => number; timers: Timers; random: (count: number) => Uint8Array }

const HEARD_MS = 2000
const LOOK_MS = 50
const NAME_BYTES = 8

/** Rejects where the database is away. */
export async function lookAtDatabase(
  database: DatabasePlace,
  directory: string,
  outside: Outside,
): Promise<DatabaseState> {
  const db = connectionsTo(database)
  try {
    const settings = await settingsOf(db)
    const schema = await schemaIn(db)
    const askedMs = outside.now()
    const serverMs = await serverTimeMs(db)
    return {
      ...{ release: settings?.release ?? '', unfit: settings && unfitFor(settings), schema },
      tearsPages: settings?.pages === 'off',
      isReadOnly: await isReadOnly(db),
      aheadMs: Math.round((askedMs + outside.now()) / 2) - serverMs,
      rows: schema.held === schema.newest ? await rowsIn(db, directory) : undefined,
      standbys: await standbysOf(db),
      oldestSeconds: await oldestTransactionIn(db),
      isWordHeard: await isWordHeard(db, database, outside),
    }
  } finally {
    await db.close()
  }
}

async function rowsIn(db: Queries, directory: string): Promise<RowsState> {
  const listed = await db.all<{ name: string; value: string }>('SELECT name, value FROM setting')
  const settings = new Map(listed.map(({ name, value }) => [name, value]))
  return {
    owner: ownerOf(settings.get(HUB_SETTING), directory),
    hub: settings.get(HUB_SETTING)?.split(' ')[0] ?? '',
    lackingRights: await lackingRights(db),
    processes: await processesIn(db),
    dead: await deadRowsIn(db),
    settings,
    held: await heldIn(db, settings),
    isPutBack: await isPutBack(db, settings.get(LINE_SETTING)),
  }
}

/** At a standby nothing is known of that. */
async function isPutBack(db: Queries, line: string | undefined): Promise<boolean> {
  return line !== undefined && !(await isReadOnly(db)) && (await lineOf(db)) !== line
}

async function heldIn(db: Queries, settings: ReadonlyMap<string, string>): Promise<ChainHeld | undefined> {
  const head = await readHead(db)
  const store = {
    ...witnessReads(db),
    supplyRecords: (from: number, limit: number) => readRecords(db, from, limit),
    setting: async (name: string) => settings.get(name),
  }
  return head && (await chainHeld(store, head))
}

/** What was cleared with each of these peers; rejects where the database is away. */
export async function clearingIn(
  database: DatabasePlace,
  peers: readonly string[],
): Promise<ClearingState[]> {
  const db = connectionsTo(database)
  try {
    const states: ClearingState[] = []
    for (const peer of peers) states.push(await readClearing(db, peer))
    return states
  } finally {
    await db.close()
  }
}

function ownerOf(held: string | undefined, directory: string): RowsState['owner'] {
  if (held === undefined) return 'none'
  if (held.startsWith('moved ')) return 'moved'
  try {
    return held === claimOf(readIdentity(directory).aid, readSecret(directory)) ? 'own' : 'other'
  } catch {
    // a file is missing or damaged, which is told of as such
    return 'unknown'
  }
}

/** A pooler that lends connections out loses what is told to one that waits. */
async function isWordHeard(db: Connections, database: DatabasePlace, outside: Outside): Promise<boolean> {
  const { timers, now, random } = outside
  const channel = `svc_hub_doctor_${toHex(random(NAME_BYTES))}`
  const link = await linkTo(database)
  try {
    let isHeard = false
    await link.hear(channel, () => {
      isHeard = true
    })
    await db.run("SELECT pg_notify($1, '')", channel)
    for (const startedMs = now(); !isHeard && now() - startedMs < HEARD_MS; ) await sleep(timers, LOOK_MS)
    return isHeard
  } finally {
    await link.close()
  }
}
