/**
 * What whoever works on a whole data directory asks of the engine that keeps its rows there: to open them as a store,
 * and, while no store of this process has them open, to look at them, copy them and make a copy safe to serve from.
 */
import type { Timers } from '../../protocol/timers.ts'
import type { ClearingState } from './clearing-port.ts'
import type { LedgerSnapshot, LedgerStore } from './ledger-port.ts'
import type { GroupCommitted, Store, StoreBroken } from './port.ts'
import { SetupRefused } from './setup-refused.ts'
import type { Threads } from './threads.ts'
import type { WatchedChains, WitnessStore } from './witness-port.ts'

/** What a migration did, and the copy that it made before. */
export type Migrated = { from: number; to: number; copy: string }

export type StoreOptions = {
  directory: string
  release: string
  timers: Timers
  random: (count: number) => Uint8Array
  onBroken: (error: StoreBroken) => void
  onLocked?: ((isLocked: boolean) => void) | undefined
  /** There was a store before: an empty one is not taken for it. */
  needsHeld?: boolean
  /** A store of an older schema is refused, not migrated. */
  keepsOlder?: boolean | undefined
  onMigrated?: ((migrated: Migrated) => void) | undefined
  /** The room that is kept for a full disk, in bytes, is not there. */
  onNoReserve?: ((bytes: number) => void) | undefined
  groupMax?: number
  /** The rows take no more room. */
  bytesMax?: number | undefined
  onGroup?: ((group: GroupCommitted) => void) | undefined
  /** Its own are started where none are passed in. */
  threads?: Threads | undefined
  /** Files whose loss breaks the store like that of its own: others could open the directory. */
  watched?: readonly string[]
}

export type Inspection = {
  schema: number
  /** The newest schema that this build knows. */
  newestSchema: number
  /** The release that wrote the schema. */
  release: string
  /** What the engine finds wrong, and books that do not agree; empty where the check was not asked for. */
  faults: string[]
  /** Paths of the blobs that waiting mail has, in the data directory. */
  blobs: string[]
  settings: ReadonlyMap<string, string>
}

export type SupplyReads = Pick<LedgerStore, 'supplyHead' | 'supplyRecords'> &
  Pick<WitnessStore, 'witness' | 'witnesses' | 'witnessStatements'> & {
    setting(name: string): Promise<string | undefined>
  }

export interface StoreEngine {
  /** Names in a data directory: of the rows, of what lies beside them while they are open, of the reserve. */
  readonly files: { rows: string; beside: readonly string[]; reserve: string; watched: string }
  /** Opens, and where needed migrates, the store of a data directory. */
  open(options: StoreOptions): Promise<Store>
  newestSchema(): Promise<number>
  /** The ledger of one moment, for a thread that has nothing of a store but its path. */
  snapshot(path: string): Promise<LedgerSnapshot>
  /** Reads what the rows at a path say of themselves; `deep` reads all of them, `alone` says that no process has them open. */
  inspect(path: string, options: { deep: boolean; alone: boolean }): Promise<Inspection>
  /** Reads what rows keep of their supply chain and of its witnesses; nothing under a schema that has neither. */
  inspectSupply<T>(
    path: string,
    options: { alone: boolean },
    read: (reads: SupplyReads) => Promise<T>,
  ): Promise<T | undefined>
  /** Reads what was cleared with each of these peers; nothing under a schema that has none of it. */
  inspectClearing(
    path: string,
    options: { alone: boolean },
    peers: readonly string[],
  ): Promise<ClearingState[]>
  /** Copies the rows at `path`, as they stand at one moment, into a new file; whoever writes goes on meanwhile. */
  copy(path: string, target: string, options: { alone: boolean }): Promise<void>
  /** Makes rows of the past safe to serve from: every floor rises to `nowMs`, no message id is given twice. */
  raiseRestored(
    path: string,
    given: { nowMs: number; savedMs: number; release: string; clockSetting: string },
  ): Promise<void>
  /** The chains of other hubs that are watched from a data directory. */
  watchedChains(directory: string): Promise<WatchedChains>
}

type Schemas = { held: number; newest: number; release: string; wrote: string }

/** The refusal of a store that a newer release wrote. */
export function newerStore(path: string, { held, newest, release, wrote }: Schemas): SetupRefused {
  return new SetupRefused(
    `${path} was written by a newer svc-hub: it has schema ${held}, and svc-hub ${release} knows up to ${newest}; ${newerBuild(wrote, release)}, or restore a backup from before the upgrade to a new folder`,
  )
}

/** What to install for a store or a backup of a newer schema. */
export function newerBuild(wrote: string, release: string): string {
  return `install svc-hub ${wrote === '' || wrote === release ? `newer than this build of ${release}` : `${wrote} or newer`}`
}
