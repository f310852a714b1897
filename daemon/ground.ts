/** Opens a data directory: every part of the node that stands below the line, from the bottom up. */
import type { Logger } from 'pino'
import { cidText } from '../protocol/crypto/hash.ts'
import type { Timers } from '../protocol/timers.ts'
import { Attachments } from './attachments/attachments.ts'
import { type Chain, openChain } from './chain/chain.ts'
import { behindPeer, sayOldCopy } from './chain/old-copy.ts'
import { notePlace, previousPlace, sayElsewhere, secondCopy } from './chain/place.ts'
import type { Ground } from './context.ts'
import { type Environment, homeDirectory, runtimeDirectory } from './home/home.ts'
import { type KeptHead, KeptHeads } from './home/kept-heads.ts'
import { lockDirectory } from './home/lock.ts'
import { requireNotMoved } from './home/moved.ts'
import { requireOnlyNode } from './home/only-node.ts'
import { requireOwnDirectory } from './home/own-directory.ts'
import { Settings } from './home/settings.ts'
import { forgetStopped } from './home/stopped.ts'
import { CurrentHub } from './hubs/current.ts'
import { openIdentity } from './identity/identity.ts'
import { MailboxKeys } from './identity/mailbox-keys.ts'
import { DeliveryCapabilities } from './peers/capabilities.ts'
import { Contacts } from './peers/contacts.ts'
import { PeerBook } from './peers/peers.ts'
import { Clock } from './platform/clock.ts'
import { Events } from './platform/events.ts'
import { ensureSecretDirectory, removeTemporary } from './platform/files.ts'
import { Notices } from './platform/notices.ts'
import { defaultTimings, type Timings } from './platform/timings.ts'
import { Transfers } from './platform/transfers.ts'
import { makeWakers } from './platform/waker.ts'
import { homeRow } from './store/hubs.ts'
import { openStore, type Store } from './store/open.ts'
import { restoredAt } from './store/restores.ts'
import { Threads } from './store/threads.ts'

export type GroundOptions = {
  dir: string
  env: Environment
  now: () => number
  timers: Timers
  random: (length: number) => Uint8Array
  log: Logger
  timings?: Partial<Timings>
  /** Aborts once the node stops; never where nothing says so. */
  ending?: AbortSignal
  /** How a directory is locked, and how its store is opened. */
  lock?: (dir: string) => Disposable
  openStore?: (dir: string) => Store
}

/** Everything that is opened is closed with `undo`. */
export async function openGround(options: GroundOptions, undo: AsyncDisposableStack): Promise<Ground> {
  const { dir, env, timers, random, log } = options
  const clock = new Clock(options.now)
  const { now } = clock
  ensureSecretDirectory(dir)
  requireOwnDirectory(dir)
  undo.use((options.lock ?? lockDirectory)(dir))
  requireNotMoved(dir)
  removeTemporary(dir)
  const identity = openIdentity(dir, { now, random })
  requireOnlyNode(env, identity.aid, dir)
  forgetStopped(dir)
  const store = undo.adopt((options.openStore ?? openStore)(dir), opened => opened.close())
  const chain = undo.adopt(await openChain(dir, store, identity, { now, timers }), opened => opened.close())
  if (chain.writtenAgain > 0)
    log.info(
      { records: chain.writtenAgain },
      'records that the evidence file lacked were written to it again',
    )
  const notices = new Notices()
  if (chain.cutRecords > 0) notices.say('chain-cut', sayCut(chain.cutRecords))
  const keys = new MailboxKeys(dir, { now, random })
  const events = new Events(now(), timers)
  const wakers = makeWakers(timers)
  const hub = new CurrentHub(identity, events, clock)
  const guarded = [dir, homeDirectory(env), runtimeDirectory(env)]
  const attachments = new Attachments(store.folder, { now, random, timers }, guarded)
  store.onTaskFailed = error => log.error({ err: error }, 'after a commit')
  const kept = new KeptHeads(env, identity, timers)
  const contacts = new Contacts(store, now)
  hub.oldCopy = olderCopy(chain, store, contacts, kept.read())
  hub.unsettled = sayRestored(restoredAt(store)) ?? elsewhere(store, dir)
  if (isNewest(hub)) notePlace(store, dir)
  followHead({ chain, kept, hub, events }, undo)
  attachments.clean(store)
  return {
    dir,
    identity,
    keys,
    store,
    chain,
    contacts,
    peers: new PeerBook(store, now, hub),
    capabilities: new DeliveryCapabilities(store, keys, { identity, now, random }),
    attachments,
    threads: new Threads(store, identity, {
      now,
      random,
      onQueued(id) {
        wakers.outbox.wake()
        if (id !== undefined) events.emit('delivery', { interaction_id: id, state: 'queued' })
      },
    }),
    hub,
    settings: new Settings(dir, () => events.emit('settings')),
    wakers,
    timings: { ...defaultTimings, ...options.timings },
    ending: options.ending ?? new AbortController().signal,
    events,
    transfers: new Transfers(events, { now, timers }),
    notices,
    log,
    now,
    timers,
    hubNow: () => hub.timeMs,
    random,
  }
}

/** Why this directory is an older copy, as this machine, a contact or the store itself shows. */
const olderCopy = (
  chain: Chain,
  store: Store,
  contacts: Contacts,
  kept: KeptHead | undefined,
): string | undefined =>
  behindKept(chain, kept) ??
  behindPeer(chain, store, aid => contacts.petnameOf(aid) ?? aid) ??
  secondCopy(store)

const isNewest = ({ oldCopy, unsettled }: CurrentHub): boolean =>
  oldCopy === undefined && unsettled === undefined

type Following = { chain: Chain; kept: KeptHeads; hub: CurrentHub; events: Events }

/** The head of a copy that is not an older one, and may be none, is kept where copies don't reach. */
function followHead({ chain, kept, hub, events }: Following, undo: AsyncDisposableStack): void {
  const keep = () => kept.keep(headOf(chain))
  if (isNewest(hub)) keep()
  undo.defer(() => (isNewest(hub) ? keep() : kept.stop()))
  chain.onAppend = () => {
    if (hub.oldCopy === undefined) kept.follow(() => headOf(chain))
    events.emit('evidence', { length: chain.length })
  }
}

function headOf(chain: Chain): KeptHead {
  const [length, id] = chain.position
  return { length, headId: cidText(id) }
}

const sayCut = (records: number): string =>
  `${records === 1 ? 'the last record was' : `the last ${records} records were`} missing in the evidence file; the store proved and wrote them again; find out what cut the file`

/** Why nothing is signed yet in a directory that was in use elsewhere, at a hub where that may still be so. */
function elsewhere(store: Store, dir: string): string | undefined {
  const previous = homeRow(store) === undefined ? undefined : previousPlace(store, dir)
  return previous === undefined ? undefined : sayElsewhere(previous)
}

/** Why nothing is signed yet in a directory that came from an archive. */
function sayRestored(madeAtMs: number | undefined): string | undefined {
  if (madeAtMs === undefined) return undefined
  const at = new Date(madeAtMs).toISOString()
  return `this directory was restored from an archive of ${at}; nothing is signed until the hub was asked what came after it, which the node goes on trying`
}

/** Why this directory is an older copy, when this machine has seen a newer one. */
function behindKept(chain: Chain, kept: KeptHead | undefined): string | undefined {
  if (kept === undefined) return undefined
  const id = chain.idAt(kept.length)
  if (id !== undefined && cidText(id) === kept.headId) return undefined
  const seen = `the evidence chain of this identity had reached record ${kept.length} on this machine`
  return sayOldCopy(chain, kept.length, seen)
}
