/** The memory of a hub that is several processes over one database. */
import { toHex } from '../../protocol/encoding/bytes.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import { CLOCK_WINDOW_MS } from '../core/limits.ts'
import type { Memory } from '../core/ports/memory.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import type { Connections } from '../store/postgres/connections.ts'
import { GroupWriter } from '../store/postgres/groups.ts'
import type { Link } from '../store/postgres/link.ts'
import { readMigrations, SERVED_LOCK } from '../store/postgres/migrate.ts'
import { Reserve } from '../store/postgres/reserve.ts'
import type { WatchedConnections } from '../store/postgres/watched.ts'
import { cachesOver } from './caches.ts'
import { AgreedClock, type OnClockOff } from './clock.ts'
import { Continuity, type Restored } from './continuity.ts'
import { guestsOver } from './guests.ts'
import { KeptLink } from './kept-link.ts'
import { LeaderByLock } from './leader.ts'
import { NewConnections, type OnDenied } from './new-connections.ts'
import type { Standing } from './one-history.ts'
import { type Copies, forgetProcesses, Processes } from './processes.ts'
import { ratesOver } from './rates.ts'
import { forgetTimes, replayOver } from './replay.ts'
import { forgetSessions, sessionsOver } from './sessions.ts'
import { forgetContacts, sharesOver } from './shares.ts'
import { supplyHeadsOver } from './supply-heads.ts'
import { wakeUpsOver } from './wake-ups.ts'
import { Word } from './word.ts'
import { clusterWrites } from './writes.ts'

const ID_BYTES = 8
const FORGET_EVERY_MS = 60_000
const FILL_EVERY_MS = 5000

export type ClusterNeeds = {
  connections: WatchedConnections
  /** Opens a connection that lasts. */
  openLink: () => Promise<Link>
  store: Pick<Store, 'supplyHead' | 'strangersWaiting'>
  /** The secret of the hub, the same in each process. */
  secret: Uint8Array
  random: (count: number) => Uint8Array
  now: () => number
  timers: Timers
  release: string
  /** False for a command, which is none of the processes that live. */
  serves?: boolean
  /** What this machine has a copy of, as it is now. */
  copies: () => Copies
  /** Where a process keeps what it has seen of the database. */
  seenFile?: string | undefined
  onRestored?: ((restored: Restored) => void) | undefined
  onClockOff?: OnClockOff | undefined
  onDenied?: OnDenied | undefined
  /** How the key history on this machine stands to that of the hub, where that changes. */
  onStanding?: ((standing: Standing) => void) | undefined
  /** A newer build brought the database to this schema. */
  onNewerSchema?: ((schema: number) => void) | undefined
}

export type Cluster = {
  memory: Memory
  processes: Processes
  clock: AgreedClock
  /** Whether word of other processes comes. */
  readonly isLinked: boolean
  /** Why the database takes no new connection of this process, where it does not. */
  readonly denied: string | undefined
  close(): Promise<void>
}

/** Rejects where the database is away. */
export async function joinCluster(needs: ClusterNeeds): Promise<Cluster> {
  const { connections: db, secret, random, timers, store, release } = needs
  const id = toHex(random(ID_BYTES))
  const link = new KeptLink(needs.openLink, timers)
  link.on({ up: serve })
  const word = new Word(link, timers, id)
  const clock = new AgreedClock({ now: needs.now, timers, onOff: needs.onClockOff })
  const now = () => clock.now()
  const serves = needs.serves ?? true
  const continuity = new Continuity({
    ...{ db, now, timers, serves, file: needs.seenFile, onRestored: needs.onRestored },
  })
  const reserve = new Reserve(db)
  const writer = new GroupWriter(db, clusterWrites, timers, { giveUpReserve: () => reserve.giveUp() })
  const known = { schema: readMigrations().length, onNewer: needs.onNewerSchema }
  const { copies, onStanding } = needs
  const processes = new Processes({ db, timers, clock, id, release, known, serves, copies, onStanding })
  const keyed = { db, writer, secret, random }
  const atEnd: (() => void)[] = []
  const memory: Memory = {
    caches: cachesOver({ word, link, timers }),
    guests: guestsOver(keyed),
    leader: new LeaderByLock(link),
    rates: ratesOver(() => Math.max(1, processes.live)),
    replay: replayOver(db, writer),
    sessions: sessionsOver(keyed),
    shares: sharesOver({ ...keyed, now, waitingIn: mailbox => store.strangersWaiting(mailbox) }),
    supply: supplyHeadsOver({ connections: db, word, store, timers, atEnd: work => atEnd.push(work) }),
    wakeUps: wakeUpsOver(word),
  }
  // another server may answer at the same address
  link.on({ up: async () => void continuity.look().catch(() => undefined), down: () => db.suspect() })
  try {
    await continuity.start()
    await link.start()
    await processes.start()
  } catch (error) {
    await continuity.close()
    await link.close()
    throw error
  }
  const forgetting = keepForgetting(db, { now, timers })
  const filling = new Filling(reserve, timers, serves)
  const fresh = new NewConnections({ open: needs.openLink, timers, onDenied: needs.onDenied })
  return {
    memory,
    processes,
    clock,
    get isLinked() {
      return link.now !== undefined
    },
    get denied() {
      return fresh.denied
    },
    async close() {
      timers.clear(forgetting)
      await filling.close()
      await fresh.close()
      for (const work of atEnd) work()
      await writer.idle()
      await word.idle()
      await continuity.close()
      await processes.close()
      await link.close()
    },
  }
}

/** Refuses while the rows of the hub are being moved. */
async function serve(link: Link): Promise<void> {
  const row = await link.one<{ serves: boolean }>(
    'SELECT pg_try_advisory_lock_shared($1) AS serves',
    SERVED_LOCK,
  )
  if (row?.serves !== true)
    throw new StoreRefused('the rows of this hub are being moved; start it once that has ended')
}

/** From here on no process serves, as long as the link lasts. */
export async function requireAlone(link: Link): Promise<void> {
  const row = await link.one<{ alone: boolean }>('SELECT pg_try_advisory_lock($1) AS alone', SERVED_LOCK)
  if (row?.alone !== true)
    throw new StoreRefused('a process serves this database; stop every svc-hub that uses it, then try again')
}

/** Each process does it: twice costs nothing. */
function keepForgetting(db: Connections, { now, timers }: Pick<ClusterNeeds, 'now' | 'timers'>): Timer {
  const forget = async (): Promise<void> => {
    await forgetTimes(db, now() - CLOCK_WINDOW_MS)
    await forgetSessions(db, now())
    await forgetContacts(db, now())
    await forgetProcesses(db)
  }
  const timer = timers.every(FORGET_EVERY_MS, () => void forget().catch(() => undefined))
  timer.unref()
  return timer
}

/** Each process that serves does it: one at a time, and none where the reserve is whole. */
class Filling {
  readonly #timers: Timers
  readonly #timer: Timer | undefined
  #under: Promise<void> | undefined

  constructor(reserve: Reserve, timers: Timers, serves: boolean) {
    this.#timers = timers
    if (!serves) return
    const fill = () => {
      this.#under ??= reserve
        .keep()
        .catch(() => undefined)
        .finally(() => {
          this.#under = undefined
        })
    }
    this.#timer = timers.every(FILL_EVERY_MS, fill)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    this.#timers.clear(this.#timer)
    await this.#under
  }
}
